import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { Redis } from 'ioredis';
import { CompiledQuery } from 'kysely';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
} from 'rate-limiter-flexible';

export interface Limit {
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
}

/** Where attempts are counted, for all API processes together. */
export interface ThrottlesStore {
  limiter(name: string, limit: Limit): RateLimiterAbstract;
  close(): Promise<void>;
}

export type ThrottlesStoreOptions =
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'postgres'; readonly db: Db };

const KEY_PREFIX = 'stowage:throttle';
const REDIS_DEADLINE_MS = 1_000;

/**
 * Counts in Redis or in the table `rate_limits`. When the store is away each process counts in its own memory:
 * requests neither hang nor fail because of it, and guessing passwords is still slow.
 */
export function openThrottlesStore(options: ThrottlesStoreOptions, logger: Logger): ThrottlesStore {
  return options.kind === 'redis' ? redisStore(options.url, logger) : postgresStore(options.db);
}

function redisStore(url: string, logger: Logger): ThrottlesStore {
  const redis = new Redis(url, {
    connectionName: 'stowage-throttles',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: REDIS_DEADLINE_MS,
    commandTimeout: REDIS_DEADLINE_MS,
    // A connection that is dead without knowing it is replaced.
    socketTimeout: 5 * REDIS_DEADLINE_MS,
  });
  redis.on('error', (error) => logger.warn({ err: error }, 'throttles: Redis is away, counting in memory'));
  return {
    limiter: (name, limit) =>
      new RateLimiterRedis({
        ...limit,
        storeClient: redis,
        keyPrefix: `${KEY_PREFIX}:${name}`,
        rejectIfRedisNotReady: true,
        insuranceLimiter: new RateLimiterMemory({ ...limit, keyPrefix: name }),
      }),
    close: async () => redis.disconnect(),
  };
}

function postgresStore(db: Db): ThrottlesStore {
  // The limiter wants a client of pg; these are the two things it does with one.
  const client = {
    async query({ text, values }: { text: string; values?: unknown[] }) {
      const { rows, numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, values ?? []));
      return { rows, rowCount: numAffectedRows === undefined ? rows.length : Number(numAffectedRows) };
    },
  };
  let clearing = false;
  return {
    limiter(name, limit) {
      const limiter = new RateLimiterPostgres({
        ...limit,
        storeClient: client,
        storeType: 'client',
        tableName: 'rate_limits',
        tableCreated: true,
        keyPrefix: name,
        // One of them clears the whole table of what expired.
        clearExpiredByTimeout: !clearing,
        insuranceLimiter: new RateLimiterMemory({ ...limit, keyPrefix: name }),
      });
      clearing = true;
      return limiter;
    },
    close: async () => undefined,
  };
}
