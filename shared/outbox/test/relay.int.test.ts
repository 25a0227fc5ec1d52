import { fork } from 'node:child_process';
import { once } from 'node:events';
import { UnrecoverableError } from 'bullmq';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import type { Job } from '../../queues/job.ts';
import { openQueueBackend } from '../../queues/open-queue-backend.ts';
import type { JobQueue } from '../../queues/queue-backend.ts';
import { openRig, type Rig, silent, someJob } from '../../queues/test/rig.ts';
import { makeAllDue } from '../claim-due-jobs.ts';
import { completeJob } from '../complete-job.ts';
import { failJob } from '../fail-job.ts';
import { insertJobs } from '../insert-jobs.ts';

const MINUTE_MS = 60_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe.each(queueBackends())('the outbox relay on $name', ({ options }) => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig(database.db, options);
  });
  afterEach(() => rig.close());

  const queue = () => rig.backend.queue('quota-accounting');
  const complete = (job: Job<'post-usage'>) => completeJob(database.db, job.id);
  const openRows = async () =>
    (await database.db.selectFrom('outbox').selectAll().where('failed_at', 'is', null).execute()).length;
  const row = (id: string) =>
    database.db.selectFrom('outbox').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  /** How long until the row is published again, in whole minutes. */
  const minutesLeft = async (id: string) => {
    const { rows } = await sql<{ ms: number }>`
      SELECT extract(epoch FROM publish_after - now())::float8 * 1000 AS ms FROM outbox WHERE id = ${id}`.execute(
      database.db,
    );
    return Math.round((rows[0]?.ms ?? Number.NaN) / MINUTE_MS);
  };
  const makeDue = (id: string) =>
    sql`UPDATE outbox SET publish_after = now() WHERE id = ${id}`.execute(database.db);

  test('publishes nothing of a transaction that is rolled back', async () => {
    const rolledBack = database.db.transaction().execute(async (trx) => {
      await insertJobs(trx, [someJob()]);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await rig.publish([]);
    expect(await queue().getJobCountByTypes('waiting', 'prioritized', 'delayed')).toBe(0);
  });

  test('publishes every row of many kicks and many relays once', async () => {
    const relays = [rig.relay({ batchSize: 7 }), rig.relay({ batchSize: 7 }), rig.relay({ batchSize: 7 })];
    // As in a process: a kick whose batch failed is not repeated, the next look at the outbox makes up for it.
    for (const relay of relays) relay.start();
    const ran: string[] = [];
    const inserts = Array.from({ length: 60 }, async (_, i) => {
      const ids = await insertJobs(database.db, [someJob(), someJob()]);
      relays[i % 3]?.kick();
      return ids;
    });
    const ids = (await Promise.all(inserts)).flat();
    await waitFor(async () => (await queue().getWaitingCount()) === ids.length, { timeoutMs: 25_000 });
    rig.worker({
      concurrency: 4,
      handlers: {
        'post-usage': async (job) => {
          ran.push(job.id);
          await complete(job);
        },
      },
    });
    await waitFor(async () => (await openRows()) === 0);
    expect(ran.toSorted()).toEqual(ids.toSorted());
  });

  test('publishes without being kicked', async () => {
    rig.relay().start();
    rig.worker({ handlers: { 'post-usage': complete } });
    await insertJobs(database.db, [someJob()]);
    await waitFor(async () => (await openRows()) === 0);
  });

  test('publishes an open row again after 1, 2, 4 … 60 minutes, and it runs once all the same', async () => {
    const [id = ''] = await rig.publish([someJob()]);
    const waits = [await minutesLeft(id)];
    for (let i = 0; i < 7; i += 1) {
      await makeDue(id);
      await rig.publish([]);
      waits.push(await minutesLeft(id));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(await queue().getWaitingCount()).toBe(1);
  });

  test('publishes new rows before the many that are published again', async () => {
    await rig.publish(Array.from({ length: 100 }, () => someJob()));
    await sql`UPDATE outbox SET publish_after = now() - interval '1 min'`.execute(database.db);
    const [fresh = ''] = await insertJobs(database.db, [someJob()]);
    const relay = rig.relay({ batchSize: 8 });
    relay.kick();
    await waitFor(async () => (await queue().getJobState(fresh)) === 'waiting');
    await relay.close();
    const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM outbox WHERE publishes > 1`.execute(
      database.db,
    );
    expect(rows[0]?.n).toBeLessThan(100);
  });

  test('counts the back-off of a job for later from its time on', async () => {
    const notBefore = new Date(Date.now() + 30 * MINUTE_MS);
    const [id = ''] = await rig.publish([someJob({ notBefore })]);
    expect(await minutesLeft(id)).toBe(31);
    expect(await queue().getDelayedCount()).toBe(1);
  });

  test('keeps a claimed row from other relays for half a minute', async () => {
    const [id = ''] = await insertJobs(database.db, [someJob()]);
    const { claimDueJobs } = await import('../claim-due-jobs.ts');
    const [mine, theirs] = [
      await claimDueJobs(database.db, 'new', 10, 30_000),
      await claimDueJobs(database.db, 'new', 10, 30_000),
    ];
    expect([mine.map((job) => job.id), theirs]).toEqual([[id], []]);
    expect((await row(id)).publish_after.getTime()).toBeGreaterThan(Date.now() + 25_000);
  });

  test('leaves failed rows alone', async () => {
    const [id = ''] = await insertJobs(database.db, [someJob()]);
    await failJob(database.db, id, 'because');
    await rig.publish([]);
    expect(await queue().getWaitingCount()).toBe(0);
  });

  test('refills a queue that has lost everything', async () => {
    const done = await rig.publish([someJob()]);
    const lost = await rig.publish([someJob({ priority: 3 }), someJob(), someJob()]);
    await completeJob(database.db, done[0] ?? '');
    expect(await queue().getJobCountByTypes('waiting', 'prioritized')).toBe(4);
    rig.relay().start();
    await waitFor(async () => (await queue().getBackend().getQueueMetaField('stowage-outbox')) !== null);

    await queue().obliterate({ force: true });

    await waitFor(async () => (await queue().getJobCountByTypes('waiting', 'prioritized')) === 3);
    for (const id of lost) expect(await queue().getJobState(id)).toMatch(/waiting|prioritized/);
    await waitFor(async () => (await minutesLeft(lost[0] ?? '')) === 2);
  });

  test('makes all published rows due, page by page, and no others', async () => {
    const published = await rig.publish([someJob(), someJob(), someJob(), someJob(), someJob()]);
    const [unpublished = ''] = await insertJobs(database.db, [someJob()]);
    const before = await row(unpublished);
    expect(await makeAllDue(database.db, 'quota-accounting', 2)).toBe(5);
    for (const id of published) expect(await minutesLeft(id)).toBeCloseTo(0);
    expect(await row(unpublished)).toEqual(before);
    expect(await makeAllDue(database.db, 'mail', 2)).toBe(0);
  });

  test('runs an open row again although BullMQ has given up on it', async () => {
    const [id = ''] = await rig.publish([someJob()]);
    const giveUp = rig.backend.worker(
      'quota-accounting',
      async () => {
        throw new UnrecoverableError('job stalled more than allowable limit');
      },
      { concurrency: 1 },
    );
    await waitFor(async () => (await queue().getJobState(id)) === 'failed');
    await giveUp.close();

    rig.worker({ handlers: { 'post-usage': complete } });
    await makeDue(id);
    await rig.publish([]);
    await waitFor(async () => (await openRows()) === 0);
  });

  test('runs the job of a killed worker again', { timeout: 60_000 }, async () => {
    const script = new URL('../../queues/test/hanging-worker.ts', import.meta.url);
    const child = fork(script, [database.url, JSON.stringify(options)], { stdio: 'inherit' });
    const taken = once(child, 'message');
    const [id = ''] = await rig.publish([someJob()]);
    expect((await taken)[0]).toBe(id);
    child.kill('SIGKILL');
    await once(child, 'exit');

    const attempts: number[] = [];
    rig.worker({
      stalledIntervalMs: 200,
      lockDurationMs: 400,
      handlers: {
        'post-usage': async (job) => {
          attempts.push(job.attempt);
          await complete(job);
        },
      },
    });
    await waitFor(async () => (await openRows()) === 0);
    expect(attempts).toEqual([1]);
  });

  test('is not kept from closing by a queue that never answers', async () => {
    // Real ones have timeouts of their own, which are longer than an end may take.
    const never = { getBackend: () => ({ getQueueMetaField: () => new Promise(() => undefined) }) };
    const backend = { ...rig.backend, queue: () => never as unknown as JobQueue };
    const relay = rig.relay({ backend, publishDeadlineMs: 3_600_000, closeGraceMs: 10 });
    relay.start();
    await relay.close();
  });

  test('keeps rows due while the queue is away, and costs them no back-off', async () => {
    const [id = ''] = await insertJobs(database.db, [someJob()]);
    const away = openQueueBackend(
      options.kind === 'redis'
        ? { kind: 'redis', url: 'redis://127.0.0.1:1' }
        : { kind: 'postgres', databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing' },
      silent,
    );
    const failures = async () =>
      (await rig.metrics.registry.getSingleMetric('stowage_outbox_publish_failures_total')?.get())?.values[0]
        ?.value;
    const relay = rig.relay({ backend: away, publishDeadlineMs: 200 });
    relay.kick();
    await waitFor(async () => (await failures()) === 1);
    await relay.close();
    expect(await row(id)).toMatchObject({ publishes: 0, failed_at: null });
    await away.close();

    rig.worker({ handlers: { 'post-usage': complete } });
    await rig.publish([]);
    await waitFor(async () => (await openRows()) === 0);
  });
});
