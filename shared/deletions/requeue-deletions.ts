import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Queues the deletion of files that are marked and have no job: mark and job are made together, so this finds
 * something only after a repair by hand. A job that failed for good counts as one: it is retried by hand.
 */
export async function requeueDeletions(db: Db, limit = 1_000): Promise<number> {
  const { rows } = await sql<{ queued: number }>`
    WITH queued AS (
      INSERT INTO outbox (queue, name, payload)
      SELECT 'cleanup', 'delete-file', jsonb_build_object('v', 1, 'fileId', f.id) FROM files AS f
      WHERE f.state = 'deleting' AND NOT EXISTS (
        SELECT FROM outbox AS o WHERE o.name = 'delete-file' AND o.payload->>'fileId' = f.id::text)
      LIMIT ${limit}
      RETURNING id
    )
    SELECT count(*)::int AS queued FROM queued`.execute(db);
  return rows[0]?.queued ?? 0;
}
