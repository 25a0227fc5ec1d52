import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { createQueueGauges } from '../../metrics/queue-gauges.ts';
import { completeJob } from '../../outbox/complete-job.ts';
import { failJob } from '../../outbox/fail-job.ts';
import { insertJobs } from '../../outbox/insert-jobs.ts';
import { openQueueBackend } from '../../queues/open-queue-backend.ts';
import { openRig, type Rig, silent, someJob } from '../../queues/test/rig.ts';
import { startQueueGauges } from '../start-queue-gauges.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Starts to count on behalf of one more process; `value` waits for a series. */
function startProcess(rig: Rig, options: Partial<Parameters<typeof startQueueGauges>[0]> = {}) {
  const { registry } = createMetrics('test');
  const gauges = createQueueGauges(registry);
  const counting = startQueueGauges({
    db: database.db,
    backend: rig.backend,
    logger: silent,
    gauges,
    intervalMs: 50,
    ...options,
  });
  const read = async (name: string, state?: string) => {
    const metric = await registry.getSingleMetric(name)?.get();
    return metric?.values.find(
      ({ labels }) => labels.queue === 'quota-accounting' && (state === undefined || labels.state === state),
    )?.value;
  };
  return { counting, read };
}

describe.each(queueBackends())('the queue gauges on $name', ({ options }) => {
  let rig: Rig;
  const processes: { close(): Promise<void> }[] = [];
  beforeEach(async () => {
    rig = await openRig(database.db, options);
    await database.db.deleteFrom('sweeps').execute();
  });
  afterEach(async () => {
    for (const { close } of processes.splice(0)) await close();
    await rig.close();
  });
  const start = (changes = {}) => {
    const { counting, read } = startProcess(rig, changes);
    processes.push(counting);
    return { read, close: () => counting.close() };
  };
  const age = (id: string, seconds: number) =>
    sql`UPDATE outbox SET created_at = now() - ${seconds} * interval '1 s' WHERE id = ${id}`.execute(
      database.db,
    );

  test('count jobs in all their states', async () => {
    await rig.publish([someJob(), someJob({ priority: 4 }), someJob({ priority: 4 })]);
    await rig.publish([someJob({ notBefore: new Date(Date.now() + 60_000) })]);
    const [failed = ''] = await insertJobs(database.db, [someJob(), someJob()]);
    await failJob(database.db, failed, 'because');
    const { read } = start();
    await waitFor(async () => (await read('stowage_queue_jobs', 'waiting')) === 1);
    expect(await read('stowage_queue_jobs', 'prioritized')).toBe(2);
    expect(await read('stowage_queue_jobs', 'delayed')).toBe(1);
    expect(await read('stowage_queue_jobs', 'active')).toBe(0);
    expect(await read('stowage_queue_jobs', 'unpublished')).toBe(1);
    expect(await read('stowage_outbox_rows', 'open')).toBe(5);
    expect(await read('stowage_outbox_rows', 'failed')).toBe(1);
  });

  test('tell how long the oldest job waits, be it waiting by priority or not published yet', async () => {
    const { read } = start();
    await waitFor(async () => (await read('stowage_queue_oldest_waiting_seconds')) === 0);
    const [prioritized = ''] = await rig.publish([someJob({ priority: 9 }), someJob()]);
    await age(prioritized, 100);
    await waitFor(async () => ((await read('stowage_queue_oldest_waiting_seconds')) ?? 0) >= 100);
    const [unpublished = ''] = await insertJobs(database.db, [someJob()]);
    await age(unpublished, 500);
    await waitFor(async () => ((await read('stowage_queue_oldest_waiting_seconds')) ?? 0) >= 500);
  });

  test('do not take a job that runs, or is for later, for one that waits', async () => {
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    rig.worker({
      graceMs: 10_000,
      handlers: {
        'post-usage': async (job) => {
          started.resolve();
          await goOn.promise;
          await completeJob(database.db, job.id);
        },
      },
    });
    const [running = ''] = await rig.publish([someJob()]);
    const [later = ''] = await rig.publish([someJob({ notBefore: new Date(Date.now() + 60_000) })]);
    await age(running, 100);
    await age(later, 100);
    await started.promise;
    const { read } = start();
    await waitFor(async () => ((await read('stowage_outbox_oldest_seconds')) ?? 0) >= 100);
    expect(await read('stowage_queue_oldest_waiting_seconds')).toBe(0);
    goOn.resolve();
  });

  test('are shown by one process at a time, and by another one after its end', async () => {
    const first = start();
    await waitFor(async () => (await first.read('stowage_outbox_rows', 'open')) === 0);
    const second = start();
    await rig.publish([someJob()]);
    await waitFor(async () => (await first.read('stowage_outbox_rows', 'open')) === 1);
    expect(await second.read('stowage_outbox_rows', 'open')).toBeUndefined();
    await first.close();
    await waitFor(async () => (await second.read('stowage_outbox_rows', 'open')) === 1);
  });

  test('still tell the backlog when the queue is away', async () => {
    const [id = ''] = await insertJobs(database.db, [someJob()]);
    await age(id, 100);
    const backend = openQueueBackend({ kind: 'redis', url: 'redis://127.0.0.1:1' }, silent);
    const { read, close } = start({ backend, deadlineMs: 50 });
    await waitFor(async () => ((await read('stowage_queue_oldest_waiting_seconds')) ?? 0) >= 100);
    expect(await read('stowage_queue_jobs', 'waiting')).toBeUndefined();
    await close();
    await backend.close();
  });
});
