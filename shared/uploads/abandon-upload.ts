import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { originalsPrefix } from './original-keys.ts';

export interface AbandonedUpload {
  readonly id: string;
  readonly userId: string;
  /** Whether a write to the object store was begun. If not, the row can go at once. */
  readonly wroteObjects: boolean;
}

/**
 * Gives up an upload that will not be finished: its reservation is free at once. When objects may exist, the row
 * stays as the sweep's order to remove them; only the sweep does, because a late write may still arrive. A process that
 * was paused for long may have written after a sweep had removed everything: then there is a new order.
 * Never call it while `finishUploads` may still be committed.
 */
export async function abandonUpload(db: Db, { id, userId, wroteObjects }: AbandonedUpload): Promise<void> {
  const close = wroteObjects
    ? sql`closed AS (
        UPDATE uploads u SET state = 'abandoned', reserved_bytes = 0, idempotency_key = NULL, lease_until = now()
        FROM open WHERE u.id = open.id
      ), ${sweepAgain(id, userId)}`
    : sql`closed AS (DELETE FROM uploads u USING open WHERE u.id = open.id)`;
  await sql`
    WITH open AS (
      SELECT id, reserved_bytes FROM uploads
      WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND state = 'open' FOR UPDATE
    ), ${close}
    UPDATE quotas q SET reserved_bytes = q.reserved_bytes - open.reserved_bytes
    FROM open WHERE q.user_id = ${userId}::uuid`.execute(db);
}

/** A sweep that has the upload in hand starts over; one that is through with it gets it again. Files are left alone. */
function sweepAgain(id: string, userId: string): RawBuilder<unknown> {
  const prefix = originalsPrefix(id);
  return sql`swept_again AS (
      INSERT INTO uploads (id, user_id, reserved_bytes, lease_until, state)
      SELECT ${id}::uuid, ${userId}::uuid, 0, now(), 'abandoned'
      WHERE NOT EXISTS (SELECT FROM open)
        AND NOT EXISTS (SELECT FROM files WHERE object_key >= ${prefix} AND object_key < ${`${prefix}~`})
      ON CONFLICT (id) DO UPDATE SET swept_at = NULL WHERE uploads.state = 'sweeping'
    )`;
}
