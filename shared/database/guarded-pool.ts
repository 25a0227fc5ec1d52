import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { databaseOverloaded, databaseUnavailable, isDatabaseAway } from './database-failure.ts';

export interface GuardedPoolOptions {
  /** Without `query_timeout`: the guard has a deadline of its own. */
  readonly config: pg.PoolConfig;
  /** The longest that the answer to one statement is waited for, ms. More than the server's `statement_timeout`. */
  readonly answerMs: number;
  /** Most statements and transactions that wait for a connection; more are OVERLOADED. */
  readonly mostWaiting: number;
  /** Pause between two attempts to reach a server that hangs, ms. */
  readonly probeMs: number;
  readonly onIdleError: (error: Error) => void;
}

/** A server that has answered so lately, in ms, is there: who gets no connection meanwhile waits for others. */
const LATELY_MS = 1_000;

/**
 * A pool that does not trust its server. A statement without an answer means that the server hangs, or the network
 * swallows what is sent: then all connections are given up, and until a new one gets an answer everything fails at
 * once. So nobody waits for more than one deadline, and no connection that is dead without knowing it is used again.
 */
export class GuardedPool implements PostgresPool {
  /** For Kysely, which cancels statements over connections of its own. */
  readonly Client = pg.Client;
  readonly options: object;
  readonly #options: GuardedPoolOptions;
  #pool: pg.Pool;
  /** Why statements fail at once, while the server hangs. */
  #hanging: Error | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #ended = false;

  constructor(options: GuardedPoolOptions) {
    this.#options = options;
    this.options = options.config;
    this.#pool = this.#newPool();
  }

  /** @throws {AppError} DATABASE_UNAVAILABLE, OVERLOADED */
  async connect(): Promise<PostgresPoolClient> {
    if (this.#hanging !== undefined) throw databaseUnavailable(this.#hanging);
    const pool = this.#pool;
    if (pool.waitingCount >= this.#options.mostWaiting) throw databaseOverloaded();
    try {
      const client = await pool.connect();
      return this.#guard(pool, client);
    } catch (error) {
      if (isTimeout(error) && this.#hasAnsweredLately()) throw databaseOverloaded(error);
      if (isTimeout(error)) this.#hangs(pool, error);
      throw databaseUnavailable(error);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#pool.end();
  }

  #newPool(): pg.Pool {
    const pool = new pg.Pool(this.#options.config);
    pool.on('error', this.#options.onIdleError);
    // The pool listens to idle connections only. One that breaks with a statement under way makes that statement
    // fail, and then says so once more by an event, which without a listener would end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  #guard(pool: pg.Pool, client: pg.PoolClient): PostgresPoolClient {
    let lost: Error | undefined;
    const query = async (text: string, values: readonly unknown[]) => {
      if (lost !== undefined) throw databaseUnavailable(lost);
      try {
        const result = await this.#answer(client.query(text, [...values]));
        this.#answeredAt = performance.now();
        return result;
      } catch (error) {
        if (error instanceof NoAnswer) {
          lost = error;
          this.#hangs(pool, error);
          throw databaseUnavailable(error);
        }
        if (error instanceof pg.DatabaseError) this.#answeredAt = performance.now();
        throw isDatabaseAway(error) ? databaseUnavailable(error) : error;
      }
    };
    return {
      ...('processID' in client && typeof client.processID === 'number' && { processID: client.processID }),
      // Kysely is given no cursors, so text and values are all that it asks with.
      query: query as unknown as PostgresPoolClient['query'],
      release: (destroy) => client.release(destroy === true || lost !== undefined),
    };
  }

  async #answer<T>(asked: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // The answer may be there, and this process too busy to have looked: it looks now.
        setImmediate(() => setImmediate(() => reject(new NoAnswer(this.#options.answerMs))));
      }, this.#options.answerMs);
    });
    try {
      return await Promise.race([asked, late]);
    } finally {
      clearTimeout(timer);
      // It fails once its connection is given up, and nobody waits for it any more.
      asked.catch(() => undefined);
    }
  }

  #hasAnsweredLately(): boolean {
    return performance.now() - this.#answeredAt < LATELY_MS;
  }

  /** Gives all connections up, those at work when they come back, and fails everything until the server answers. */
  #hangs(pool: pg.Pool, error: unknown): void {
    if (pool !== this.#pool || this.#ended) return;
    this.#hanging = error instanceof Error ? error : new Error(String(error));
    this.#pool = this.#newPool();
    pool.end().catch(() => undefined);
    void this.#probe();
  }

  async #probe(): Promise<void> {
    const { config, probeMs } = this.#options;
    while (!this.#ended && this.#hanging !== undefined) {
      const client = new pg.Client(config);
      client.on('error', () => undefined);
      try {
        await this.#answer(client.connect().then(() => client.query('SELECT 1')));
        this.#hanging = undefined;
      } catch (error) {
        // A server that refuses at once needs no guard against waiting.
        if (!isTimeout(error) && !(error instanceof NoAnswer)) this.#hanging = undefined;
        else await new Promise((resolve) => setTimeout(resolve, probeMs).unref());
      } finally {
        void client.end().catch(() => undefined);
      }
    }
  }
}

class NoAnswer extends Error {
  constructor(ms: number) {
    super(`Postgres gave no answer within ${ms} ms.`);
    this.name = 'NoAnswer';
  }
}

/** What the driver says when it gets no connection in time: a new one, or one that others use. */
function isTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(timeout exceeded|Connection terminated due to connection timeout|timeout expired)/.test(error.message)
  );
}
