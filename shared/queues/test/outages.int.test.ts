import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { completeJob } from '../../outbox/complete-job.ts';
import { insertJobs } from '../../outbox/insert-jobs.ts';
import type { Job } from '../job.ts';
import { type BreakableLine, openBreakableLine } from './breakable-line.ts';
import { openRig, type Rig, someJob } from './rig.ts';

const PATIENCE = { timeoutMs: 30_000 };

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

// The database itself stays there: only the line to the queue breaks, also when the queue is in the same database.
describe.each(queueBackends())('a line to $name that breaks', { timeout: 60_000 }, ({ options }) => {
  let line: BreakableLine;
  let rig: Rig;
  beforeEach(async () => {
    line =
      options.kind === 'redis'
        ? await openBreakableLine(options.url, 6379)
        : await openBreakableLine(options.databaseUrl, 5432);
    rig = await openRig(
      database.db,
      options.kind === 'redis'
        ? { ...options, url: line.url, silenceMs: 7_000 }
        : { ...options, databaseUrl: line.url },
    );
  });
  afterEach(async () => {
    await rig.close();
    await line.close();
  });

  const openRows = async () => (await database.db.selectFrom('outbox').selectAll().execute()).length;
  const handlers = { 'post-usage': (job: Job<'post-usage'>) => completeJob(database.db, job.id) };

  test('lets jobs go on when it is mended', async () => {
    rig.worker({ handlers });
    const relay = rig.relay({ pauseMs: 50 });
    relay.start();
    await insertJobs(database.db, [someJob()]);
    relay.kick();
    await waitFor(async () => (await openRows()) === 0, PATIENCE);

    line.cut();
    await insertJobs(database.db, [someJob(), someJob()]);
    relay.kick();
    await waitFor(() => line.tried() > 8, PATIENCE);
    expect(await openRows()).toBe(2);
    line.mend();
    await waitFor(async () => (await openRows()) === 0, PATIENCE);
  });

  test('lets jobs go on when its connections die without a word', async () => {
    rig.worker({ handlers });
    const relay = rig.relay({ pauseMs: 50, publishDeadlineMs: 500 });
    relay.start();
    await insertJobs(database.db, [someJob()]);
    await waitFor(async () => (await openRows()) === 0, PATIENCE);
    line.lose();
    await insertJobs(database.db, [someJob(), someJob()]);
    relay.kick();
    await waitFor(async () => (await openRows()) === 0, { timeoutMs: 50_000 });
  });

  test('does not stop a process that starts meanwhile from working later', async () => {
    line.cut();
    const late = await openRigOnBrokenLine();
    const relay = late.relay({ pauseMs: 50, publishDeadlineMs: 500 });
    relay.start();
    late.worker({ handlers });
    await insertJobs(database.db, [someJob()]);
    const before = line.tried();
    await waitFor(() => line.tried() > before + 3, PATIENCE);
    line.mend();
    await waitFor(async () => (await openRows()) === 0, PATIENCE);
    await late.close();
  });

  test('keeps rows due while nothing comes through, and the relay goes on when it is mended', async () => {
    const relay = rig.relay({ pauseMs: 50, publishDeadlineMs: 300 });
    const failures = async () =>
      (await rig.metrics.registry.getSingleMetric('stowage_outbox_publish_failures_total')?.get())?.values[0]
        ?.value ?? 0;
    await rig.backend.check(AbortSignal.timeout(10_000));
    line.freeze();
    const [id = ''] = await insertJobs(database.db, [someJob()]);
    relay.start();
    await waitFor(async () => (await failures()) > 0, PATIENCE);
    const row = await database.db.selectFrom('outbox').selectAll().where('id', '=', id).executeTakeFirst();
    expect(row).toMatchObject({ publishes: 0, failed_at: null });
    line.mend();
    rig.worker({ handlers });
    await waitFor(async () => (await openRows()) === 0, PATIENCE);
  });

  test.each(['cut', 'freeze'] as const)('does not keep a process from ending: %s', async (how) => {
    const worker = rig.worker({ handlers });
    await worker.ready();
    const relay = rig.relay({ publishDeadlineMs: 300 });
    relay.start();
    line[how]();
    await insertJobs(database.db, [someJob()]);
    relay.kick();
    await relay.close();
    await worker.close();
    await rig.backend.close();
  });

  test('is not hammered while it is broken', async () => {
    rig.worker({ handlers, concurrency: 4 });
    await rig.publish([]);
    line.cut();
    const before = line.tried();
    const end = Date.now() + 2_000;
    await waitFor(() => Date.now() > end, PATIENCE);
    expect(line.tried() - before).toBeLessThan(60);
  });

  /** The rig empties the queues first, for which it takes the direct way. */
  async function openRigOnBrokenLine(): Promise<Rig> {
    const broken =
      options.kind === 'redis' ? { ...options, url: line.url } : { ...options, databaseUrl: line.url };
    return openRig(database.db, broken, { emptied: true });
  }
});
