import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Database } from './schema.ts';

export interface DatabaseOptions {
  readonly url: string;
  /** Most connections this process holds. */
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** A statement that takes longer is cancelled by the server, and given up here half a second later. */
  readonly statementTimeoutMs?: number;
  /** Told of errors of idle connections: the pool replaces them by itself. */
  readonly onIdleError: (error: Error) => void;
}

export type Db = Kysely<Database>;

/** Byte counts and ids are int8; none passes 2^53−1. */
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

/** A pool of connections. Connections are opened on first use, so this does not fail when the server is away. */
export function openDatabase(options: DatabaseOptions): Db {
  const timeout = options.statementTimeoutMs ?? 4_000;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    connectionTimeoutMillis: 3_000,
    statement_timeout: timeout,
    query_timeout: timeout + 500,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types,
  });
  pool.on('error', options.onIdleError);
  // The pool listens to idle connections only. One that breaks with a statement under way makes that statement fail,
  // and then says so once more by an event, which without a listener would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
