import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from '../database/open-database.ts';
import type { QueueGauges, QueueReading } from '../metrics/queue-gauges.ts';
import { readBacklog } from '../outbox/read-backlog.ts';
import { QUEUE_NAMES } from '../queues/job-types.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import { readQueue } from '../queues/read-queue.ts';
import { withDeadline } from '../queues/with-deadline.ts';

export interface QueueGaugesOptions {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly logger: Logger;
  readonly gauges: QueueGauges;
  /** Time between two readings, ms. Default 5,000. */
  readonly intervalMs?: number;
  /** The longest that a reading of the queues may take, ms. Default 4,000. */
  readonly deadlineMs?: number;
}

/** After so many intervals without a word from the process that reads the queues, another one takes over. */
const LEASE_INTERVALS = 3;
const LEASE_NAME = 'queue-gauges';

/**
 * Reads the queues and the outbox at intervals, off the requests that ask for the metrics. Of several processes
 * only one does it: the one that holds the lease, which is a row of `sweeps`.
 */
export function startQueueGauges(options: QueueGaugesOptions): { close(): Promise<void> } {
  const { db, backend, logger, gauges, intervalMs = 5_000, deadlineMs = 4_000 } = options;
  let lease: string | undefined;
  let reading: Promise<void> | undefined;

  const read = async () => {
    try {
      lease = await renewLease(db, lease, intervalMs * LEASE_INTERVALS);
      gauges.show(lease === undefined ? [] : await readAll(db, backend, logger, deadlineMs));
    } catch (error) {
      logger.warn({ err: error }, 'the queues could not be counted');
      gauges.show([]);
    }
  };
  const tick = () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
  };
  tick();
  const timer = setInterval(tick, intervalMs);

  return {
    async close() {
      clearInterval(timer);
      await reading;
      if (lease !== undefined) await releaseLease(db, lease).catch(() => undefined);
    },
  };
}

async function readAll(
  db: Db,
  backend: QueueBackend,
  logger: Logger,
  deadlineMs: number,
): Promise<QueueReading[]> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const states = await Promise.all(
    QUEUE_NAMES.map(async (name) => {
      try {
        return await withDeadline(readQueue(backend.queue(name)), deadline);
      } catch (error) {
        // The outbox is in Postgres and tells the backlog all the same.
        logger.warn({ err: error, queue: name }, 'the queue could not be counted');
        return undefined;
      }
    }),
  );
  const backlogs = await readBacklog(
    db,
    states.flatMap((state) => state?.activeIds ?? []),
  );
  return QUEUE_NAMES.map((queue, i) => {
    const backlog = backlogs.find((candidate) => candidate.queue === queue);
    return {
      queue,
      jobs: { ...states[i]?.jobs, unpublished: backlog?.unpublished ?? 0 },
      oldestWaitingSeconds: backlog?.oldestWaitingSeconds ?? 0,
      outboxOpen: backlog?.open ?? 0,
      outboxFailed: backlog?.failed ?? 0,
      outboxOldestSeconds: backlog?.oldestOpenSeconds ?? 0,
    };
  });
}

/** Takes or keeps the lease; the answer identifies it. Undefined when another process has it. */
async function renewLease(db: Db, mine: string | undefined, leaseMs: number): Promise<string | undefined> {
  // As text: a Date would cut the microseconds off.
  const { rows } = await sql<{ lease: string }>`
    INSERT INTO sweeps (name, last_run_at) VALUES (${LEASE_NAME}, now())
    ON CONFLICT (name) DO UPDATE SET last_run_at = now()
      WHERE sweeps.last_run_at::text = ${mine ?? null}
        OR sweeps.last_run_at <= now() - ${leaseMs} * interval '1 millisecond'
    RETURNING last_run_at::text AS lease`.execute(db);
  return rows[0]?.lease;
}

async function releaseLease(db: Db, mine: string): Promise<void> {
  await sql`DELETE FROM sweeps WHERE name = ${LEASE_NAME} AND last_run_at::text = ${mine}`.execute(db);
}
