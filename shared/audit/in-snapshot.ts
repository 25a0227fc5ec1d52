import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Runs the work on one snapshot of the database: everything that it reads is as of one moment, and nothing can be
 * written.
 */
export async function inSnapshot<T>(db: Db, work: (snapshot: Db) => Promise<T>): Promise<T> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      // Between two statements a page of rows is looked at, and perhaps repaired.
      await sql`SET LOCAL idle_in_transaction_session_timeout = '10min'`.execute(trx);
      return await work(trx);
    });
}
