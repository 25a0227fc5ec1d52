import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

export interface AbandonedUpload {
  readonly id: string;
  readonly userId: string;
  /** Whether a write to the object store was begun. If not, the row can go at once. */
  readonly wroteObjects: boolean;
}

/**
 * Gives up an upload that will not be finished: its reservation is free at once. When objects may exist, the row
 * stays as the sweep's order to remove them; only the sweep does, because a late write may still arrive.
 * Does nothing when the upload is not open any more. Never call it after `finishUploads` was sent.
 */
export async function abandonUpload(db: Db, { id, userId, wroteObjects }: AbandonedUpload): Promise<void> {
  const close = wroteObjects
    ? sql`UPDATE uploads u SET state = 'abandoned', reserved_bytes = 0, idempotency_key = NULL, lease_until = now()
          FROM open WHERE u.id = open.id`
    : sql`DELETE FROM uploads u USING open WHERE u.id = open.id`;
  await sql`
    WITH open AS (
      SELECT id, reserved_bytes FROM uploads
      WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND state = 'open' FOR UPDATE
    ), closed AS (${close})
    UPDATE quotas q SET reserved_bytes = q.reserved_bytes - open.reserved_bytes
    FROM open WHERE q.user_id = ${userId}::uuid`.execute(db);
}
