import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/** Moves the leases of running uploads forward, and returns the ids of those that are still theirs. */
export async function renewLeases(db: Db, ids: readonly string[], leaseMs: number): Promise<string[]> {
  const rows = await db
    .updateTable('uploads')
    .set({ lease_until: sql`now() + ${leaseMs}::float8 * interval '1 millisecond'` })
    .where('id', 'in', [...ids])
    .where('state', '=', 'open')
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}
