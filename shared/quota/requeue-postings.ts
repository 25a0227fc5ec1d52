import { sql } from 'kysely';
import { inTurn } from '../database/in-turn.ts';
import type { Db } from '../database/open-database.ts';

/**
 * Queues the posting of users whose books wait without a job: usage and its job are made together, so this finds
 * something only after a repair by hand. A job that failed for good counts as one: it is retried by hand.
 * Two at once take turns, so that each gets one job.
 */
export async function requeuePostings(db: Db, limit = 1_000): Promise<number> {
  return await inTurn(db, 'requeue-postings', (trx) => requeue(trx, limit));
}

async function requeue(trx: Db, limit: number): Promise<number> {
  const { rows } = await sql<{ queued: number }>`
    -- EXCEPT reads each table once, whatever the statistics say; NOT EXISTS may read the outbox anew for each user.
    WITH waiting AS (
      SELECT user_id FROM files WHERE posted_at IS NULL
      UNION ALL SELECT user_id FROM files WHERE refunded_at IS NOT NULL AND refund_posted_at IS NULL
      UNION ALL SELECT user_id FROM quota_adjustments WHERE posted_at IS NULL
    ), lost AS (
      SELECT user_id::text FROM waiting
      EXCEPT SELECT payload->>'userId' FROM outbox WHERE name = 'post-usage'
    ), queued AS (
      INSERT INTO outbox (queue, name, payload)
      SELECT 'quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', user_id) FROM lost
      LIMIT ${limit}
      RETURNING id
    )
    SELECT count(*)::int AS queued FROM queued`.execute(trx);
  return rows[0]?.queued ?? 0;
}
