import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Moves the leases of running uploads forward, and returns the ids of those that are still theirs. It locks them in
 * the order of their ids, as *finish* does, so that the two never wait for each other in a circle.
 */
export async function renewLeases(db: Db, ids: readonly string[], leaseMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    WITH open AS (
      SELECT id FROM uploads WHERE id = ANY(${ids}::uuid[]) AND state = 'open' ORDER BY id FOR UPDATE
    )
    UPDATE uploads AS u SET lease_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
    FROM open WHERE u.id = open.id RETURNING u.id`.execute(db);
  return rows.map((row) => row.id);
}
