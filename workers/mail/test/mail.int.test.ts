import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { createRelay, type Relay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import type { JobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { isSignUpTokenOf } from '@stowage/shared/secrets/sign-up-token.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser } from '../../../scripts/testing/test-rows.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { createMailer, type Mailer, type MailerOptions } from '../src/mailer.ts';
import { openMailWorker } from '../src/worker.ts';
import { type FakeSmtpServer, openFakeSmtpServer } from './fake-smtp-server.ts';

const SECRET_KEY = 'a secret of the tests, thirty-two characters';
const FROM = 'Stowage <stowage@example.org>';
const lines: string[] = [];
const logger = createLogger({
  name: 'test',
  level: 'trace',
  destination: { write: (line) => lines.push(line) },
});

let database: TestDatabase;
let folder: string;
let smtp: FakeSmtpServer;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-test-mail-'));
  smtp = await openFakeSmtpServer();
});
afterAll(async () => {
  await smtp?.close();
  await rm(folder, { recursive: true, force: true });
  await database?.close();
});

/** A sign-up with the job of its mail. */
async function signUp(values: { redeemed_at?: Date; expires_at?: Date; verified?: boolean } = {}) {
  const userId = await makeUser(database.db);
  const user = await database.db
    .updateTable('users')
    .set({ email_verified_at: values.verified ? new Date() : null })
    .where('id', '=', userId)
    .returning('email')
    .executeTakeFirstOrThrow();
  const row = await database.db
    .insertInto('sign_ups')
    .values({
      user_id: userId,
      password_hash: 'x',
      username: 'x',
      expires_at: values.expires_at ?? new Date(Date.now() + 3_600_000),
      redeemed_at: values.redeemed_at ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const [jobId] = await insertJobs(database.db, [
    { name: 'send-mail', payload: { v: 1, mail: 'verify-sign-up', signUpId: row.id } },
  ]);
  return { row, email: user.email!, jobId: jobId! };
}

const jobOf = (id: string) =>
  database.db.selectFrom('outbox').selectAll().where('id', '=', id).executeTakeFirst();
const done = (id: string) => waitFor(async () => (await jobOf(id)) === undefined);

describe.each(queueBackends())('the mail worker on $name', ({ options }) => {
  let backend: QueueBackend;
  let relay: Relay;
  let worker: JobWorker | undefined;
  let mailer: Mailer | undefined;

  beforeAll(() => {
    backend = openQueueBackend(options, logger);
    const retries = { attempts: 2, firstPauseMs: 1 };
    relay = createRelay({ db: database.db, backend, logger, metrics: createMetrics('test'), retries });
  });
  afterEach(async () => {
    await worker?.close();
    mailer?.close();
  });
  afterAll(async () => {
    await relay?.close();
    await backend?.close();
  });

  function start(target: { kind: 'smtp' } | { kind: 'folder' }, verifyUrl?: string) {
    const where: MailerOptions =
      target.kind === 'smtp'
        ? { kind: 'smtp', url: smtp.url, from: FROM }
        : { kind: 'folder', folder, from: FROM };
    mailer = createMailer(where);
    worker = openMailWorker({
      db: database.db,
      mailer,
      secretKey: SECRET_KEY,
      publicUrl: 'https://files.example.org',
      verifyUrl,
      backend,
      logger,
      metrics: createMetrics('test'),
      concurrency: 2,
      firstPauseMs: 20,
    });
    relay.kick();
  }

  it('writes a mail as a file of its own, with the token as it is', async () => {
    const { row, email, jobId } = await signUp();
    start({ kind: 'folder' });
    await done(jobId);
    const file = join(folder, `${jobId}.eml`);
    const mail = await readFile(file, 'utf8');
    const token = /token=([\w.-]+)/.exec(mail)?.[1];
    expect(isSignUpTokenOf(SECRET_KEY, row, token!)).toBe(true);
    expect(mail).toContain(`To: ${email}\r\n`);
    expect(mail).toContain(`From: ${FROM}\r\n`);
    expect(mail).toContain(`mutation { verifySignupToken(params: { token: "${token}" })`);
    expect(mail).toContain('Content-Type: text/plain; charset=utf-8');
    expect(mail).toContain('Content-Type: text/html; charset=utf-8');
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect((await readdir(folder)).filter((name) => !name.endsWith('.eml'))).toEqual([]);
  });

  it('sends by SMTP, with a link when there is a page to link to', async () => {
    const { row, email, jobId } = await signUp();
    start({ kind: 'smtp' }, 'https://app.example.org/a/rather/long/path/to/the/page?step=verify');
    await done(jobId);
    const mail = await waitFor(() => smtp.mails.find((each) => each.includes(email)));
    const link = /https:\/\/app\.example\.org\/\S+\?step=verify&token=([\w.-]+)/.exec(mail);
    expect(isSignUpTokenOf(SECRET_KEY, row, link![1]!)).toBe(true);
    expect(mail).toContain(`Message-ID: <${jobId}@example.org>`);
  });

  it('tells the owner of a verified address that there is an account, without a token', async () => {
    const { email, jobId } = await signUp({ verified: true });
    start({ kind: 'smtp' });
    await done(jobId);
    const mail = smtp.mails.find((each) => each.includes(email));
    expect(mail).toContain('Subject: You have an account already');
    expect(mail).not.toMatch(/token/i);
  });

  it('sends nothing for a sign-up that was redeemed, has expired, or is gone', async () => {
    const before = smtp.mails.length;
    const jobs = [
      await signUp({ redeemed_at: new Date() }),
      await signUp({ expires_at: new Date(Date.now() - 1_000) }),
      await signUp(),
    ];
    await database.db.deleteFrom('sign_ups').where('id', '=', jobs[2]!.row.id).execute();
    start({ kind: 'smtp' });
    for (const { jobId } of jobs) await done(jobId);
    expect(smtp.mails).toHaveLength(before);
  });

  it('fails a mail for good that the server refuses, and says why', async () => {
    smtp.answer = '550 no such mailbox';
    const { jobId } = await signUp();
    start({ kind: 'smtp' });
    const failed = await waitFor(async () => {
      const job = await jobOf(jobId);
      return job?.failed_at ? job : undefined;
    });
    smtp.answer = '250 ok';
    expect(failed.failure).toContain('MAIL_NOT_SENT');
  });

  it('waits for a server that is busy for as long as it takes', async () => {
    smtp.answer = '451 try again later';
    const before = lines.length;
    const { email, jobId } = await signUp();
    start({ kind: 'smtp' });
    // More deliveries than a job has attempts.
    await waitFor(
      () => lines.slice(before).filter((line) => line.includes('job will be tried again')).length > 3,
    );
    expect(await jobOf(jobId)).toMatchObject({ failed_at: null });
    smtp.answer = '250 ok';
    await done(jobId);
    expect(smtp.mails.some((mail) => mail.includes(email))).toBe(true);
  });

  it('logs no token', () => {
    expect(lines.join('')).not.toMatch(/[\w-]{22}\.[\w-]{22}/);
  });
});
