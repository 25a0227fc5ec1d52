import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { openBreakableLine } from '../../../shared/queues/test/breakable-line.ts';
import { createMailer } from '../src/mailer.ts';
import { openMailWorker } from '../src/worker.ts';
import { openFakeSmtpServer } from './fake-smtp-server.ts';

const PATIENCE = { timeoutMs: 30_000 };
const logger = createLogger({ name: 'test', level: 'silent' });
let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

async function mailJob(): Promise<string> {
  const { db } = database;
  const { id } = await db
    .insertInto('sign_ups')
    .values({
      user_id: await makeUser(db),
      password_hash: 'x',
      username: 'x',
      expires_at: new Date(Date.now() + 3_600_000),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const payload = { v: 1, mail: 'verify-sign-up', signUpId: id } as const;
  const [jobId = ''] = await insertJobs(db, [{ name: 'send-mail', payload }]);
  return jobId;
}

it.each(['cut', 'freeze'] as const)(
  'a mail waits for a mail server that is away (%s), costs no attempt, and goes out once it is back',
  { timeout: 60_000 },
  async (how) => {
    const { db } = database;
    const smtp = await openFakeSmtpServer();
    const line = await openBreakableLine(smtp.url, 25);
    const backend = openQueueBackend({ kind: 'postgres', databaseUrl: database.url }, logger);
    const metrics = createMetrics('test');
    const retries = { attempts: 2, firstPauseMs: 1 };
    const relay = createRelay({ db, backend, logger, metrics, retries, pollMs: 200 });
    const deadlines = { dnsTimeout: 500, connectionTimeout: 500, greetingTimeout: 500, socketTimeout: 500 };
    const mailer = createMailer({ kind: 'smtp', url: line.url, from: 'Stowage <a@example.org>', deadlines });
    const worker = openMailWorker({
      db,
      backend,
      logger,
      metrics,
      mailer,
      secretKey: 'a secret of the tests, thirty-two characters',
      publicUrl: 'http://stowage.test',
      verifyUrl: undefined,
      concurrency: 1,
      firstPauseMs: 10,
    });
    try {
      line[how]();
      const id = await mailJob();
      relay.start();
      // More often than a job is tried whose own fault it is.
      await waitFor(() => line.tried() > 3, PATIENCE);
      const row = await db.selectFrom('outbox').select('failed_at').where('id', '=', id).executeTakeFirst();
      expect(row).toEqual({ failed_at: null });
      expect(smtp.mails).toEqual([]);
      line.mend();
      await waitFor(
        async () => (await db.selectFrom('outbox').select('id').where('id', '=', id).execute()).length === 0,
        PATIENCE,
      );
      expect(smtp.mails).toHaveLength(1);
    } finally {
      await worker.close();
      await relay.close();
      await backend.close();
      mailer.close();
      await line.close();
      await smtp.close();
    }
  },
);
