import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Db } from '../../database/open-database.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { createRelay, type Relay, type RelayOptions } from '../../outbox/create-relay.ts';
import { insertJobs, type NewJob } from '../../outbox/insert-jobs.ts';
import { QUEUE_NAMES } from '../job-types.ts';
import { type JobWorker, type JobWorkerOptions, openJobWorker } from '../open-job-worker.ts';
import { openQueueBackend, type QueueBackendOptions } from '../open-queue-backend.ts';
import type { QueueBackend } from '../queue-backend.ts';

export const silent = pino({ level: 'silent' });

/** A queue backend with an empty queue, and what a process has around it. */
export interface Rig {
  readonly backend: QueueBackend;
  readonly metrics: ReturnType<typeof createMetrics>;
  relay(options?: Partial<RelayOptions>): Relay;
  worker(options: Pick<JobWorkerOptions, 'handlers'> & Partial<JobWorkerOptions>): JobWorker;
  /** Inserts jobs and publishes them. */
  publish(jobs: readonly NewJob[]): Promise<string[]>;
  close(): Promise<void>;
}

/** The payload of a job that any test may use; its handler decides what it means. */
export function someJob(values: { priority?: number; requestId?: string; notBefore?: Date } = {}): NewJob {
  return { name: 'post-usage', payload: { v: 1, userId: randomUUID() }, ...values };
}

/** @param state with `emptied` the queues are taken as they are, so the backend need not be there */
export async function openRig(
  db: Db,
  options: QueueBackendOptions,
  state: { emptied?: boolean } = {},
): Promise<Rig> {
  const backend = openQueueBackend(options, silent);
  const metrics = createMetrics('test');
  const closers: (() => Promise<void>)[] = [];
  await db.deleteFrom('outbox').execute();
  if (!state.emptied) for (const name of QUEUE_NAMES) await backend.queue(name).obliterate({ force: true });

  const rig: Rig = {
    backend,
    metrics,
    relay(changes = {}) {
      const retries = { attempts: 3, firstPauseMs: 20 };
      const relay = createRelay({ db, backend, logger: silent, metrics, retries, pollMs: 100, ...changes });
      closers.push(() => relay.close());
      return relay;
    },
    worker(changes) {
      const worker = openJobWorker({
        backend,
        db,
        logger: silent,
        metrics,
        queue: 'quota-accounting',
        concurrency: 1,
        firstPauseMs: 10,
        graceMs: 0,
        abandonAfterMs: 50,
        ...changes,
      });
      closers.push(() => worker.close());
      return worker;
    },
    async publish(jobs) {
      const ids = await insertJobs(db, jobs);
      const relay = rig.relay();
      relay.kick();
      await relay.close();
      return ids;
    },
    async close() {
      for (const close of closers.reverse()) await close();
      await backend.close();
    },
  };
  return rig;
}
