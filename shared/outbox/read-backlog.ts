import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/** The outbox rows of one queue. */
export interface Backlog {
  readonly queue: string;
  /** Jobs whose effect is still to come, those for later included. */
  readonly open: number;
  /** Open jobs that were not given to the queue yet. */
  readonly unpublished: number;
  /** Jobs that failed for good and were not requeued. */
  readonly failed: number;
  /** Age of the oldest open job, whatever it is doing, s. 0 without one. */
  readonly oldestOpenSeconds: number;
  /** How long the oldest job that may run, and does not run now, has been able to, s. 0 without one. */
  readonly oldestWaitingSeconds: number;
}

/**
 * Counts the outbox in one pass.
 *
 * @param activeIds jobs that are being worked on, which therefore do not wait
 */
export async function readBacklog(db: Db, activeIds: readonly string[]): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    SELECT queue,
      count(*) FILTER (WHERE failed_at IS NULL)::int4 AS open,
      count(*) FILTER (WHERE failed_at IS NULL AND publishes = 0)::int4 AS unpublished,
      count(*) FILTER (WHERE failed_at IS NOT NULL)::int4 AS failed,
      coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE failed_at IS NULL)), 0)::float8
        AS "oldestOpenSeconds",
      greatest(0, coalesce(extract(epoch FROM now() - min(greatest(created_at, not_before)) FILTER (
        WHERE failed_at IS NULL AND id <> ALL(${activeIds}::uuid[])
      )), 0))::float8 AS "oldestWaitingSeconds"
    FROM outbox GROUP BY queue`.execute(db);
  return rows;
}
