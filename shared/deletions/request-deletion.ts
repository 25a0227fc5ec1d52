import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

export interface DeletionRequest {
  readonly fileId: string;
  /** The request that asks for it; it travels into the job. */
  readonly requestId: string;
}

/**
 * Marks a file as being deleted, with the job that removes its bytes, in one statement. From the commit on it is
 * not read any more. Returns false when there was nothing to do: it was marked before, or does not exist.
 */
export async function requestDeletion(db: Db, { fileId, requestId }: DeletionRequest): Promise<boolean> {
  return (await mark(db, sql`id = ${fileId}::uuid`, 1, requestId)) > 0;
}

export interface UserDeletion {
  readonly userId: string;
  readonly requestId?: string;
  /** Files marked at once: one statement must end before its timeout. Default 1,000. */
  readonly batchSize?: number;
}

/**
 * The same for the files of a user who was deleted: at most a batch of them. Returns how many; the cleanup
 * worker's sweep goes on until none is left, also with files of uploads that end later.
 */
export async function requestDeletionOfUser(db: Db, request: UserDeletion): Promise<number> {
  return await mark(
    db,
    sql`user_id = ${request.userId}::uuid`,
    request.batchSize ?? 1_000,
    request.requestId ?? null,
  );
}

/** A picture that waited for its render waits no longer, so it stops counting for its owner's priority. */
async function mark(
  db: Db,
  which: RawBuilder<unknown>,
  limit: number,
  requestId: string | null,
): Promise<number> {
  const { rows } = await sql<{ marked: number }>`
    WITH chosen AS (
      SELECT id, render_state = 'pending' AS pending FROM files
      WHERE ${which} AND state = 'stored' ORDER BY id LIMIT ${limit} FOR UPDATE
    ), marked AS (
      UPDATE files AS f
      SET state = 'deleting', deleted_at = now(),
        render_state = CASE WHEN chosen.pending THEN 'none' ELSE f.render_state END
      FROM chosen WHERE f.id = chosen.id
      RETURNING f.id, f.user_id, chosen.pending
    ), freed AS (
      UPDATE quotas AS q SET renders_outstanding = q.renders_outstanding - pending.files
      FROM (SELECT user_id, count(*)::int AS files FROM marked WHERE pending GROUP BY user_id) AS pending
      WHERE q.user_id = pending.user_id
    ), queued AS (
      INSERT INTO outbox (queue, name, payload, request_id)
      SELECT 'cleanup', 'delete-file', jsonb_build_object('v', 1, 'fileId', id), ${requestId} FROM marked
    )
    SELECT count(*)::int AS marked FROM marked`.execute(db);
  return rows[0]?.marked ?? 0;
}
