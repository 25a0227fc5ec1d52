import { type Db, openDatabase } from '../database/open-database.ts';

/** A pass over the largest table takes minutes, not the seconds that a request may wait. */
const STATEMENT_TIMEOUT_MS = 15 * 60_000;
/** One for the snapshot, one for what happens beside it, and one to cancel what takes too long. */
const POOL_SIZE = 3;

/** Connections of an audit's own: its statements may take long, and hold up nobody. */
export function openAuditDatabase(url: string, onIdleError: (error: Error) => void): Db {
  return openDatabase({
    url,
    poolSize: POOL_SIZE,
    applicationName: 'stowage-audit',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError,
  });
}
