import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Runs the work on one snapshot of the database: everything that it reads is as of one moment, and nothing can be
 * written. An abort cancels the statement that is running, and rejects with the signal's reason.
 *
 * @param db a pool of two connections at least: one is needed to cancel what the other does
 */
export async function inSnapshot<T>(
  db: Db,
  signal: AbortSignal,
  work: (snapshot: Db) => Promise<T>,
): Promise<T> {
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (trx) => {
        // Between two statements a page of rows is looked at, and perhaps repaired.
        await sql`SET LOCAL idle_in_transaction_session_timeout = '10min'`.execute(trx);
        return await cancellable(db, trx, signal, work);
      });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Kysely's own way fails in a transaction: it takes the rollback for the statement, and leaves that alone. */
async function cancellable<T>(
  db: Db,
  trx: Db,
  signal: AbortSignal,
  work: (snapshot: Db) => Promise<T>,
): Promise<T> {
  const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(trx);
  const cancel = () => {
    sql`SELECT pg_cancel_backend(${rows[0]?.pid})`.execute(db).catch(() => undefined);
  };
  signal.addEventListener('abort', cancel, { once: true });
  try {
    signal.throwIfAborted();
    return await work(trx);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
