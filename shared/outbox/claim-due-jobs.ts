import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** An outbox row on its way into its queue. */
export interface DueJob {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly payload: unknown;
  readonly priority: number;
  readonly requestId: string | null;
  /** How often it was published before. */
  readonly publishes: number;
  /** Until its time comes, ms. 0 when it may run at once. */
  readonly delayMs: number;
}

/** Rows that were never published, or those that were and are still open. */
export type Due = 'new' | 'again';

const WHICH = { new: sql`publishes = 0`, again: sql`publishes > 0` };

/**
 * Takes rows that are due, oldest first. They are nobody else's for `claimMs`: a process that dies with them in
 * its hands delays them by that long.
 */
export async function claimDueJobs(db: Db, due: Due, limit: number, claimMs: number): Promise<DueJob[]> {
  const { rows } = await sql<DueJob & { createdAt: Date }>`
    UPDATE outbox SET publish_after = now() + ${claimMs} * interval '1 millisecond'
    WHERE id IN (
      SELECT id FROM outbox WHERE failed_at IS NULL AND ${WHICH[due]} AND publish_after <= now()
      ORDER BY publish_after LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    RETURNING id, queue, name, payload, priority, request_id AS "requestId", publishes, created_at AS "createdAt",
      greatest(0, ceil(extract(epoch FROM not_before - now()) * 1000))::int8 AS "delayMs"`.execute(db);
  return rows
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    .map(({ createdAt: _, ...job }) => job);
}

/** How long a published row waits for its effect before it is published again: 1, 2, 4 … minutes. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Records that the rows are in their queue. Those that are done by now are gone. */
export async function confirmPublished(db: Db, ids: readonly string[], backoff: Backoff): Promise<void> {
  await sql`
    UPDATE outbox SET
      publishes = publishes + 1,
      publish_after = greatest(now(), not_before)
        + least(${backoff.firstMs} * 2 ^ least(publishes, 30), ${backoff.longestMs}) * interval '1 millisecond'
    WHERE id = ANY(${ids}::uuid[]) AND failed_at IS NULL`.execute(db);
}

/** Makes claimed rows due again, because they could not be published. */
export async function releaseClaim(db: Db, ids: readonly string[]): Promise<void> {
  await sql`UPDATE outbox SET publish_after = now() WHERE id = ANY(${ids}::uuid[])`.execute(db);
}

/**
 * Makes all open rows of a queue due that were published before, and restarts their back-off. Rows that another
 * process works on are left to it; so several processes may find out at once that the queue is empty. It goes
 * through them a page at a time: however many there are, no statement runs into its timeout.
 */
export async function makeAllDue(db: Db, queue: string, pageSize = 10_000): Promise<number> {
  let all = 0;
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const { rows } = await sql<{ id: string }>`
      WITH page AS (
        SELECT id FROM outbox
        WHERE id > ${after}::uuid AND failed_at IS NULL AND queue = ${queue} AND publishes > 0
        ORDER BY id LIMIT ${pageSize} FOR UPDATE SKIP LOCKED
      ), due AS (
        UPDATE outbox SET publish_after = now(), publishes = 1 WHERE id IN (SELECT id FROM page)
      )
      SELECT id FROM page ORDER BY id`.execute(db);
    all += rows.length;
    after = rows.at(-1)?.id;
  }
  return all;
}
