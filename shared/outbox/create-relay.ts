import type { Logger } from 'pino';
import type { Db } from '../database/open-database.ts';
import { faultPoint } from '../faults/fault-points.ts';
import type { RelayMetrics } from '../metrics/relay-metrics.ts';
import { QUEUE_NAMES, type QueueName } from '../queues/job-types.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import { withDeadline } from '../queues/with-deadline.ts';
import {
  type Backoff,
  claimDueJobs,
  confirmPublished,
  type Due,
  type DueJob,
  makeAllDue,
  releaseClaim,
} from './claim-due-jobs.ts';
import { publishJobs, type Retries } from './publish-jobs.ts';
import { hasMarker, setMarker } from './queue-marker.ts';

export interface RelayOptions {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly logger: Logger;
  readonly metrics: { readonly relay: RelayMetrics };
  /** How often due rows and lost queues are looked for without being kicked, ms. Default 5,000. */
  readonly pollMs?: number;
  /** Most rows of one statement. Default 500. */
  readonly batchSize?: number;
  /** How long a row is this process's while it publishes it, ms. Default 30,000. */
  readonly claimMs?: number;
  /** When an open row is published again. Default 1, 2, 4 … 60 minutes. */
  readonly backoff?: Backoff;
  /** How jobs are tried. Default 5 times, with a second after the first. */
  readonly retries?: Retries;
  /** The longest that one batch may take to be published, ms. Default 10,000. */
  readonly publishDeadlineMs?: number;
  /** How long to leave a queue alone that could not be published to, ms. Default 1,000. */
  readonly pauseMs?: number;
  /** How long a queue that does not answer may hold up `close`, ms. Default 1,000. */
  readonly closeGraceMs?: number;
}

export interface Relay {
  /** Publishes what is due, soon. Call it after a commit; nothing waits for it, and many kicks cost one. */
  kick(): void;
  /** Begins to look for due rows and lost queues at intervals. */
  start(): void;
  /** Lets the batch in hand end, if that is soon. Call it before the queues and the database are closed. */
  close(): Promise<void>;
}

/**
 * Carries outbox rows into their queues. Any number of processes may run one. The queue may be away for as long as
 * it likes: rows wait, and no request notices.
 */
export function createRelay(options: RelayOptions): Relay {
  const { db, backend, logger, pollMs = 5_000, batchSize = 500, claimMs = 30_000 } = options;
  const { backoff = { firstMs: 60_000, longestMs: 3_600_000 }, publishDeadlineMs = 10_000 } = options;
  const againBatchSize = Math.ceil(batchSize / 4);
  const { pauseMs = 1_000, retries = { attempts: 5, firstPauseMs: 1_000 }, closeGraceMs = 1_000 } = options;
  const metrics = options.metrics.relay;

  let working: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let pausedUntil = 0;
  const givingUp = new AbortController();
  const deadline = () => AbortSignal.any([AbortSignal.timeout(publishDeadlineMs), givingUp.signal]);

  const publish = async (queue: QueueName, jobs: readonly DueJob[]) => {
    await faultPoint('relay.claimed');
    try {
      await withDeadline(publishJobs(backend.queue(queue), jobs, retries), deadline());
    } catch (error) {
      metrics.publishFailed(queue);
      pausedUntil = performance.now() + pauseMs;
      await releaseClaim(db, idsOf(jobs)).catch(() => undefined);
      throw error;
    }
    await faultPoint('relay.published');
    metrics.published(queue, jobs.length);
    await confirmPublished(db, idsOf(jobs), backoff);
  };

  const publishBatch = async (due: Due, limit: number): Promise<number> => {
    const jobs = await claimDueJobs(db, due, limit, claimMs);
    const queues = Map.groupBy(jobs, (job) => job.queue);
    const results = await Promise.allSettled(
      QUEUE_NAMES.map(async (name) => {
        const own = queues.get(name);
        if (own) await publish(name, own);
      }),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
    return jobs.length;
  };

  const publishDue = async () => {
    while (!closed && performance.now() >= pausedUntil) {
      if ((await publishBatch('new', batchSize)) === batchSize) continue;
      // Between two small batches of old rows a new one has its turn: it must not wait for a whole backlog.
      if ((await publishBatch('again', againBatchSize)) < againBatchSize) return;
    }
  };

  const refillLostQueues = async () => {
    for (const name of QUEUE_NAMES) {
      const queue = backend.queue(name);
      if (await withDeadline(hasMarker(queue), deadline())) continue;
      const rows = await makeAllDue(db, name);
      await withDeadline(setMarker(queue), deadline());
      if (rows === 0) continue;
      metrics.queueRefilled(name);
      logger.warn({ queue: name, rows }, 'the queue has lost its jobs: publishing all open rows again');
    }
  };

  const run = (steps: readonly (() => Promise<void>)[]) => {
    working = (async () => {
      for (const step of steps) {
        try {
          await step();
        } catch (error) {
          if (!closed) logger.warn({ err: error }, 'outbox rows could not be published yet');
        }
      }
    })().finally(() => {
      working = undefined;
      if (again) kick();
    });
  };

  const kick = () => {
    if (closed) return;
    again = working !== undefined;
    if (!again) run([publishDue]);
  };

  const poll = async () => {
    while (working) await working;
    if (!closed) run([refillLostQueues, publishDue]);
  };

  return {
    kick,
    start() {
      timer ??= setInterval(() => void poll(), pollMs);
      void poll();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      const patience = setTimeout(() => givingUp.abort(new Error('the relay is closed')), closeGraceMs);
      await working;
      clearTimeout(patience);
    },
  };
}

function idsOf(jobs: readonly DueJob[]): string[] {
  return jobs.map((job) => job.id);
}
