import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

export interface Refund {
  readonly fileId: string;
  readonly requestId: string | undefined;
}

/**
 * Gives a deleted file's bytes back to its owner, once, with the job that posts the refund. Only when the object
 * store has confirmed that the original is gone. Where a low `set` would leave less than nothing, the difference is
 * written off in the same statement. Returns false when it was refunded before.
 */
export async function refundFile(db: Db, { fileId, requestId }: Refund): Promise<boolean> {
  const { rows } = await sql<{ refunded: number }>`
    WITH refunded AS (
      UPDATE files SET refunded_at = now()
      WHERE id = ${fileId}::uuid AND state = 'deleting' AND refunded_at IS NULL
      RETURNING user_id, size_bytes
    ), freed AS (
      UPDATE quotas AS q
      SET stored_bytes = q.stored_bytes - refunded.size_bytes,
        adjustment_bytes = greatest(q.adjustment_bytes, refunded.size_bytes - q.stored_bytes)
      FROM refunded WHERE q.user_id = refunded.user_id
      RETURNING q.user_id, new.adjustment_bytes - old.adjustment_bytes AS written_off
    ), recorded AS (
      INSERT INTO quota_adjustments (user_id, bytes, reason)
      SELECT user_id, written_off, 'write-off' FROM freed WHERE written_off > 0
    ), queued AS (
      INSERT INTO outbox (queue, name, payload, request_id)
      SELECT 'quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', user_id), ${requestId ?? null}
      FROM freed
    )
    SELECT count(*)::int AS refunded FROM refunded`.execute(db);
  return (rows[0]?.refunded ?? 0) > 0;
}
