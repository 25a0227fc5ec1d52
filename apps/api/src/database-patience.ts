import type { DatabaseOptions } from '@stowage/shared/database/open-database.ts';

/**
 * How long a request waits for Postgres, in ms: for a connection, and for the answer. Both, with what it takes to
 * notice, are over within the 5 s in which a request is answered whatever happens to the database.
 */
export const DATABASE_PATIENCE = {
  connectTimeoutMs: 1_750,
  statementTimeoutMs: 2_750,
} as const satisfies Partial<DatabaseOptions>;
