import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Queues the posting of users whose books wait without a job: usage and its job are made together, so this finds
 * something only after a repair by hand. A job that failed for good counts as one: it is retried by hand.
 */
export async function requeuePostings(db: Db, limit = 1_000): Promise<number> {
  const { rows } = await sql<{ queued: number }>`
    WITH waiting AS (
      SELECT user_id FROM files WHERE posted_at IS NULL
      UNION SELECT user_id FROM files WHERE refunded_at IS NOT NULL AND refund_posted_at IS NULL
      UNION SELECT user_id FROM quota_adjustments WHERE posted_at IS NULL
    ), queued AS (
      INSERT INTO outbox (queue, name, payload)
      SELECT 'quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', user_id) FROM waiting
      WHERE NOT EXISTS (
        SELECT FROM outbox AS o WHERE o.name = 'post-usage' AND o.payload->>'userId' = waiting.user_id::text)
      LIMIT ${limit}
      RETURNING id
    )
    SELECT count(*)::int AS queued FROM queued`.execute(db);
  return rows[0]?.queued ?? 0;
}
