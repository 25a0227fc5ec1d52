import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { AppError } from '../../errors/app-error.ts';
import { completeJob } from '../../outbox/complete-job.ts';
import { cleanFailedJobs } from '../clean-failed-jobs.ts';
import type { Job } from '../job.ts';
import { openRig, type Rig, someJob } from './rig.ts';

type PostUsage = Job<'post-usage'>;

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe.each(queueBackends())('a job worker on $name', ({ options }) => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig(database.db, options);
  });
  afterEach(() => rig.close());

  const row = (id: string) =>
    database.db.selectFrom('outbox').selectAll().where('id', '=', id).executeTakeFirst();
  const rowIsGone = async (id: string) => (await row(id)) === undefined;
  const deliveries = async (outcome: string) => {
    const metric = await rig.metrics.registry.getSingleMetric('stowage_jobs_total')?.get();
    return metric?.values.find((value) => value.labels.outcome === outcome)?.value ?? 0;
  };
  const complete = (job: PostUsage) => completeJob(database.db, job.id);

  test('hands the payload and the request id to the handler, whose effect removes the outbox row', async () => {
    const jobs: PostUsage[] = [];
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          jobs.push(job);
          await complete(job);
        },
      },
    });
    const userId = randomUUID();
    const [id = ''] = await rig.publish([
      { name: 'post-usage', payload: { v: 1, userId }, requestId: 'request-7' },
    ]);
    await waitFor(() => rowIsGone(id));
    await waitFor(async () => (await rig.backend.queue('quota-accounting').getJobState(id)) === 'unknown');
    expect(jobs).toHaveLength(1);
    expect(jobs[0]).toMatchObject({
      id,
      name: 'post-usage',
      payload: { v: 1, userId },
      requestId: 'request-7',
      attempt: 1,
      lastAttempt: false,
    });
    expect(jobs[0]?.logger.bindings()).toMatchObject({
      job: 'post-usage',
      jobId: id,
      requestId: 'request-7',
    });
    expect(await deliveries('done')).toBe(1);
  });

  test('tries a job again after an error', async () => {
    const attempts: number[] = [];
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          attempts.push(job.attempt);
          if (attempts.length < 3) throw new Error('not yet');
          await complete(job);
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    await waitFor(() => rowIsGone(id));
    expect(attempts).toEqual([1, 2, 3]);
  });

  test('records why a job failed after its last attempt, and publishes it no more', async () => {
    const lastAttempts: boolean[] = [];
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          lastAttempts.push(job.lastAttempt);
          throw new Error('the ledger is on fire');
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    const failed = await waitFor(async () => {
      const found = await row(id);
      return found?.failed_at ? found : undefined;
    });
    expect(failed.failure).toBe('the ledger is on fire');
    expect(lastAttempts).toEqual([false, false, true]);
    const queue = rig.backend.queue('quota-accounting');
    await waitFor(async () => (await queue.getJobState(id)) === 'failed');
    expect((await queue.getJob(id))?.failedReason).toBe('the ledger is on fire');
    expect(await deliveries('failed')).toBe(1);

    await cleanFailedJobs(rig.backend, 60_000);
    expect(await queue.getJobState(id)).toBe('failed');
    await cleanFailedJobs(rig.backend, 0);
    expect(await queue.getJobState(id)).toBe('unknown');
    expect((await row(id))?.failure).toBe('the ledger is on fire');
  });

  test('fails a job at once when trying again cannot help', async () => {
    let tries = 0;
    rig.worker({
      handlers: {
        'post-usage': async () => {
          tries += 1;
          throw new AppError('USER_NOT_FOUND', 'There is no such user.');
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    const failed = await waitFor(async () => ((await row(id))?.failed_at ? row(id) : undefined));
    expect(failed.failure).toBe('USER_NOT_FOUND: There is no such user.');
    expect(tries).toBe(1);
  });

  test('lets a job wait for a dependency for more tries than an error may take', async () => {
    const attempts: number[] = [];
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          attempts.push(job.attempt);
          if (attempts.length <= 5) throw new AppError('OBJECT_STORE_UNAVAILABLE', 'The store is away.');
          await complete(job);
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    await waitFor(() => rowIsGone(id));
    expect(attempts).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test.each([
    ['a wrong type', { v: 1, userId: 7 }],
    ['no uuid', { v: 1, userId: 'root' }],
    ['a version from the future', { v: 99, userId: randomUUID() }],
    ['a field too many', { v: 1, userId: randomUUID(), admin: true }],
    ['nothing', null],
  ])('fails a malformed payload for good: %s', async (_what, payload) => {
    let tries = 0;
    rig.worker({
      handlers: {
        'post-usage': async () => {
          tries += 1;
        },
      },
    });
    const { id } = await database.db
      .insertInto('outbox')
      .values({ queue: 'quota-accounting', name: 'post-usage', payload: JSON.stringify(payload) })
      .returning('id')
      .executeTakeFirstOrThrow();
    await rig.publish([]);
    const failed = await waitFor(async () => ((await row(id))?.failed_at ? row(id) : undefined));
    expect(failed.failure).toMatch(/^JOB_MALFORMED: The payload of post-usage is malformed/);
    expect(tries).toBe(0);
  });

  test('fails a job that it does not know', async () => {
    rig.worker({ handlers: { 'post-usage': complete } });
    const { id } = await database.db
      .insertInto('outbox')
      .values({ queue: 'quota-accounting', name: 'print-money', payload: '{}' })
      .returning('id')
      .executeTakeFirstOrThrow();
    await rig.publish([]);
    const failed = await waitFor(async () => ((await row(id))?.failed_at ? row(id) : undefined));
    expect(failed.failure).toBe('JOB_MALFORMED: This worker knows no job "print-money".');
  });

  test('does nothing for a job that is delivered after it was done', async () => {
    let runs = 0;
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          runs += 1;
          await complete(job);
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    await waitFor(() => rowIsGone(id));
    const queue = rig.backend.queue('quota-accounting');
    await waitFor(async () => (await queue.getJobState(id)) === 'unknown');
    const payload = { v: 1, userId: randomUUID() };
    await queue.add('post-usage', { payload, requestId: null }, { jobId: id, removeOnComplete: true });
    await waitFor(async () => (await deliveries('duplicate')) === 1);
    expect(runs).toBe(1);
  });

  test('takes jobs of high priority before those that wait longer', async () => {
    const flood = Array.from({ length: 40 }, () => someJob({ priority: 1_000 }));
    const order: string[] = [];
    await rig.publish(flood);
    const [other = ''] = await rig.publish([someJob({ priority: 1 })]);
    const [urgent = ''] = await rig.publish([someJob()]);
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          order.push(job.id);
          await complete(job);
        },
      },
    });
    await waitFor(() => order.length === 42);
    expect(order.slice(0, 2)).toEqual([urgent, other]);
  });

  test('does not run a job before its time', async () => {
    const notBefore = new Date(Date.now() + 700);
    let ranAt = 0;
    rig.worker({
      handlers: {
        'post-usage': async (job) => {
          ranAt = Date.now();
          await complete(job);
        },
      },
    });
    const [id = ''] = await rig.publish([someJob({ notBefore })]);
    expect(await rig.backend.queue('quota-accounting').getJobState(id)).toBe('delayed');
    await waitFor(() => rowIsGone(id));
    expect(ranAt).toBeGreaterThanOrEqual(notBefore.getTime());
  });

  test('lets a running job finish when it is closed', async () => {
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const worker = rig.worker({
      graceMs: 10_000,
      handlers: {
        'post-usage': async (job) => {
          started.resolve();
          await goOn.promise;
          await complete(job);
        },
      },
    });
    const [id = ''] = await rig.publish([someJob()]);
    await started.promise;
    const closed = worker.close();
    goOn.resolve();
    await closed;
    expect(await row(id)).toBeUndefined();
    expect(await deliveries('done')).toBe(1);
  });

  test.each([
    ['that stops when it is told to', true],
    ['that does not listen', false],
  ])(
    'hands back a running job %s when the grace is over, and costs it no attempt',
    async (_what, listens) => {
      const started = Promise.withResolvers<void>();
      const first = rig.worker({
        handlers: {
          'post-usage': async (job) => {
            started.resolve();
            await new Promise<void>((_, reject) => {
              if (listens) job.signal.addEventListener('abort', () => reject(job.signal.reason));
            });
          },
        },
      });
      const [id = ''] = await rig.publish([someJob({ priority: 5 })]);
      await started.promise;
      await first.close();
      expect(await deliveries('handed-back')).toBe(1);
      expect(await rig.backend.queue('quota-accounting').getJobState(id)).toMatch(/^(waiting|prioritized)$/);

      const attempts: number[] = [];
      rig.worker({
        handlers: {
          'post-usage': async (job) => {
            attempts.push(job.attempt);
            await complete(job);
          },
        },
      });
      await waitFor(() => rowIsGone(id));
      expect(attempts).toEqual([1]);
    },
  );
});
