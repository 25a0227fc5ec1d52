import { sql } from 'kysely';
import { inTurn } from '../database/in-turn.ts';
import type { Db } from '../database/open-database.ts';

/**
 * Queues the deletion of files that are marked and have no job: mark and job are made together, so this finds
 * something only after a repair by hand. A job that failed for good counts as one: it is retried by hand.
 * Two at once take turns, so that each gets one job.
 */
export async function requeueDeletions(db: Db, limit = 1_000): Promise<number> {
  return await inTurn(db, 'requeue-deletions', (trx) => requeue(trx, limit));
}

async function requeue(trx: Db, limit: number): Promise<number> {
  const { rows } = await sql<{ queued: number }>`
    -- EXCEPT reads each table once, whatever the statistics say; NOT EXISTS read the outbox anew for each file.
    WITH lost AS (
      SELECT id::text FROM files WHERE state = 'deleting'
      EXCEPT SELECT payload->>'fileId' FROM outbox WHERE name = 'delete-file'
    ), queued AS (
      INSERT INTO outbox (queue, name, payload)
      SELECT 'cleanup', 'delete-file', jsonb_build_object('v', 1, 'fileId', id) FROM lost LIMIT ${limit}
      RETURNING id
    )
    SELECT count(*)::int AS queued FROM queued`.execute(trx);
  return rows[0]?.queued ?? 0;
}
