import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import { failJob } from '@stowage/shared/outbox/fail-job.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { openRig, type Rig, someJob } from '@stowage/shared/queues/test/rig.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { makeFile, makeUser } from '../testing/test-rows.ts';
import { queueBackends } from '../testing/test-services.ts';
import { waitFor } from '../testing/wait-for.ts';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-requeue-'));
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the command as an operator would. */
function requeue(
  args: string[],
  env: Record<string, string | undefined>,
): Promise<{ code: number; out: string }> {
  const script = new URL('../requeue.ts', import.meta.url).pathname;
  return new Promise((resolve) => {
    const own = { PATH: process.env.PATH, DATA_DIR: folder, ...env };
    execFile(process.execPath, [script, ...args], { env: own }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: stdout + stderr });
    });
  });
}

describe.each(queueBackends())('npm run requeue, the queue on $name', ({ options }) => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig(database.db, options);
  });
  afterEach(() => rig.close());

  const env = () => ({
    DATABASE_URL: database.url,
    REDIS_URL: options.kind === 'redis' ? options.url : undefined,
  });
  const failWithRealWorker = async () => {
    const worker = rig.worker({
      handlers: {
        'post-usage': async () => {
          throw new Error('the ledger\nis on fire');
        },
      },
    });
    const [id = ''] = await rig.publish([someJob({ requestId: 'request-9' })]);
    await waitFor(async () => (await rig.backend.queue('quota-accounting').getJobState(id)) === 'failed');
    await worker.close();
    return id;
  };

  test('says when nothing has failed', async () => {
    expect(await requeue([], env())).toEqual({ code: 0, out: 'Nothing has failed for good.\n' });
    expect(await requeue(['--failed'], env())).toEqual({
      code: 0,
      out: 'Requeued 0 failed jobs and the thumbnails of 0 pictures.\n',
    });
  });

  test('lists what failed, and why, and changes nothing', async () => {
    const id = await failWithRealWorker();
    const { code, out } = await requeue([], env());
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(
        `^\\d{4}-\\S+Z  quota-accounting  post-usage  ${id}  the ledger is on fire\nFailed for good: 1 job;`,
      ),
    );
    const row = await database.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ id, failure: 'the ledger\nis on fire' });
  });

  test('makes a new job of one that failed, which runs', async () => {
    const id = await failWithRealWorker();
    const { code, out } = await requeue(['--failed'], env());
    expect([code, out]).toEqual([0, 'Requeued 1 failed job and the thumbnails of 0 pictures.\n']);
    expect(await rig.backend.queue('quota-accounting').getJobState(id)).toBe('unknown');

    const ran: (string | undefined)[] = [];
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          ran.push(job.id, job.requestId);
          await completeJob(database.db, job.id);
        },
      },
    });
    await rig.publish([]);
    await waitFor(() => ran.length > 0);
    expect(ran[0]).not.toBe(id);
    expect(ran[1]).toBe('request-9');
  });

  test('leaves other queues alone when it is given one', async () => {
    const mail = { v: 1, mail: 'verify-sign-up', signUpId: randomUUID() } as const;
    const ids = await insertJobs(database.db, [someJob(), { name: 'send-mail', payload: mail }]);
    for (const id of ids) await failJob(database.db, id, 'because');
    const { out } = await requeue(['--failed', '--queue', 'mail'], env());
    expect(out).toMatch(/^Requeued 1 failed job /);
    const left = await database.db
      .selectFrom('outbox')
      .select('id')
      .where('failed_at', 'is not', null)
      .execute();
    expect(left).toEqual([{ id: ids[0] }]);
  });

  test('renders pictures again that were given up', async () => {
    const user = await makeUser(database.db);
    const { id } = await makeFile(database.db, user, {
      render_state: 'failed',
      render_attempts: 3,
      render_error: 'RENDER_CRASHED: The picture ended 3 attempts to render it.',
    });
    expect((await requeue([], env())).out).toMatch(/given up: thumbnails of 1 picture\./);
    const { out } = await requeue(['--failed', '--queue', 'thumbnails'], env());
    expect(out).toBe('Requeued 0 failed jobs and the thumbnails of 1 picture.\n');
    const file = await database.db
      .selectFrom('files')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(file).toMatchObject({ render_state: 'pending', render_attempts: 0, render_error: null });
    const job = await database.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
    expect(job).toMatchObject({ name: 'render-thumbnails', payload: { v: 1, fileId: id }, failed_at: null });
  });
});

describe('npm run requeue', () => {
  test('explains itself', async () => {
    const { code, out } = await requeue(['--help'], {});
    expect([code, out]).toEqual([0, expect.stringContaining('Usage: npm run requeue')]);
  });

  test.each([
    ['--all', /Unknown option '--all'/],
    ['--queue=cats', /There is no queue "cats"\. There are thumbnails, quota-accounting, cleanup, mail\./],
  ])('refuses %s', async (flag, message) => {
    const { code, out } = await requeue([flag], { DATABASE_URL: database.url });
    expect([code, out]).toEqual([64, expect.stringMatching(message)]);
  });

  test('says which variable is missing when there is no database', async () => {
    const { code, out } = await requeue([], {});
    expect([code, out]).toEqual([78, expect.stringContaining('DATABASE_URL is missing')]);
  });

  test('fails when the database is away', async () => {
    const { code } = await requeue([], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
    expect(code).toBe(1);
  });
});
