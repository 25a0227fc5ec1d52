import { sql } from 'kysely';
import type { Db } from './open-database.ts';

/**
 * Runs the work in a transaction, one at a time for each name among all processes. For work that first looks whether
 * it is needed: whoever is second sees what the first has done.
 */
export async function inTurn<T>(db: Db, name: string, work: (trx: Db) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`stowage/${name}`}, 0))`.execute(trx);
    return await work(trx);
  });
}
