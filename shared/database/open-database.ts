import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { GuardedPool } from './guarded-pool.ts';
import type { Database } from './schema.ts';

export interface DatabaseOptions {
  readonly url: string;
  /** Most connections this process holds. */
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** The longest wait for a connection, ms. Default 3,000. */
  readonly connectTimeoutMs?: number;
  /** A statement that takes longer is cancelled by the server, and given up here a little later. Default 4,000 ms. */
  readonly statementTimeoutMs?: number;
  /** Pause between attempts to reach a server that hangs, ms. Default 500. */
  readonly probeMs?: number;
  /** Told of errors of idle connections: the pool replaces them by itself. */
  readonly onIdleError: (error: Error) => void;
}

export type Db = Kysely<Database>;

/** For the server's word that it has cancelled a statement. */
const ANSWER_SLACK_MS = 250;

/** Byte counts and ids are int8; none passes 2^53−1. */
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

/** Statements and transactions of a process that wait for a connection. */
const MOST_WAITING = 1_000;
const PROBE_MS = 500;

/**
 * A pool of connections. Connections are opened on first use, so this does not fail when the server is away.
 * Statements then throw an AppError DATABASE_UNAVAILABLE, within the two timeouts also when the server hangs; and
 * OVERLOADED when it answers, but has no time for them. Other errors of Postgres come as they are.
 */
export function openDatabase(options: DatabaseOptions): Db {
  const { connectTimeoutMs = 3_000, statementTimeoutMs = 4_000 } = options;
  const pool = new GuardedPool({
    config: {
      connectionString: options.url,
      max: options.poolSize,
      application_name: options.applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: 30_000,
      keepAlive: true,
      types,
    },
    answerMs: statementTimeoutMs + ANSWER_SLACK_MS,
    mostWaiting: MOST_WAITING,
    probeMs: options.probeMs ?? PROBE_MS,
    onIdleError: options.onIdleError,
  });
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
