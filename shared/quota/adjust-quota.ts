import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { type QuotaRecord, quotaRecord } from './quota-record.ts';

export interface QuotaChange {
  readonly userId: string;
  /** `increase` adds the bytes to the bytes used, `set` makes them the bytes used. */
  readonly kind: 'increase' | 'set';
  /** 0 … 2^53−1. */
  readonly bytes: number;
  /** Who asked for it. */
  readonly actorId: string;
  readonly requestId: string;
}

interface Row {
  user_id: string;
  stored_bytes: number | null;
  adjustment_bytes: number | null;
  max_bytes: number | null;
}

/**
 * Changes the bytes used by a user, in one statement, with its entry for the ledger and the job that posts it.
 * Only the adjustment moves: what is stored stays what is stored, so a low `set` gives nobody room.
 * `no-room`: the bytes used and the reservations of running uploads would pass the limit; nothing is changed.
 */
export async function adjustQuota(
  db: Db,
  change: QuotaChange,
): Promise<QuotaRecord | 'no-room' | 'unknown-user'> {
  const bytes = sql`${change.bytes}::bigint`;
  const adjustment =
    change.kind === 'increase' ? sql`q.adjustment_bytes + ${bytes}` : sql`${bytes} - q.stored_bytes`;
  const { rows } = await sql<Row>`
    WITH changed AS (
      UPDATE quotas AS q SET adjustment_bytes = ${adjustment}
      FROM users AS u
      WHERE q.user_id = ${change.userId} AND u.id = q.user_id AND u.state <> 'deleted'
        AND q.stored_bytes + (${adjustment}) + q.reserved_bytes <= q.max_bytes
      RETURNING q.user_id, new.stored_bytes, new.adjustment_bytes, new.max_bytes,
        new.adjustment_bytes - old.adjustment_bytes AS difference
    ), recorded AS (
      INSERT INTO quota_adjustments (user_id, bytes, reason, actor_id)
      SELECT user_id, difference, ${change.kind}, ${change.actorId}::uuid FROM changed
    ), queued AS (
      INSERT INTO outbox (queue, name, payload, request_id)
      SELECT 'quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', user_id), ${change.requestId}
      FROM changed
    )
    SELECT u.id AS user_id, c.stored_bytes, c.adjustment_bytes, c.max_bytes
    FROM users AS u JOIN quotas AS q ON q.user_id = u.id LEFT JOIN changed AS c ON c.user_id = u.id
    WHERE u.id = ${change.userId} AND u.state <> 'deleted'`.execute(db);
  const row = rows[0];
  if (row === undefined) return 'unknown-user';
  const { user_id, stored_bytes, adjustment_bytes, max_bytes } = row;
  if (stored_bytes === null || adjustment_bytes === null || max_bytes === null) return 'no-room';
  return quotaRecord({ user_id, stored_bytes, adjustment_bytes, max_bytes });
}
