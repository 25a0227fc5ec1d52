import { type RawBuilder, sql } from 'kysely';
import { inTurn } from '../database/in-turn.ts';
import type { Db } from '../database/open-database.ts';

/**
 * Makes the chosen files pending, with a job each, in one statement. `renders_outstanding` counts the pending files
 * of a user, so it grows by those that were not pending before. Two at once take turns, so that a query which leaves
 * out files with a job gives each file one.
 *
 * @param ids a query for ids of files
 * @returns how many were queued
 */
export async function queueRenders(db: Db, ids: RawBuilder<unknown>, priority: number): Promise<number> {
  return await inTurn(db, 'queue-renders', (trx) => queue(trx, ids, priority));
}

async function queue(trx: Db, ids: RawBuilder<unknown>, priority: number): Promise<number> {
  const { rows } = await sql<{ queued: number }>`
    WITH chosen AS (
      SELECT id FROM files WHERE id IN (${ids}) AND state = 'stored' ORDER BY id FOR UPDATE
    ), queued AS (
      UPDATE files SET render_state = 'pending', render_attempts = 0, render_error = NULL
      WHERE id IN (SELECT id FROM chosen)
      RETURNING id, user_id, old.render_state AS render_state_before
    ), counted AS (
      UPDATE quotas q SET renders_outstanding = q.renders_outstanding + n.files
      FROM (
        SELECT user_id, count(*)::int AS files FROM queued WHERE render_state_before <> 'pending' GROUP BY user_id
      ) AS n
      WHERE q.user_id = n.user_id
    ), jobs AS (
      INSERT INTO outbox (queue, name, payload, priority)
      SELECT 'thumbnails', 'render-thumbnails', jsonb_build_object('v', 1, 'fileId', id), ${priority} FROM queued
    )
    SELECT count(*)::int AS queued FROM queued`.execute(trx);
  return rows[0]?.queued ?? 0;
}
