import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort } from '../../start/postgres/embedded-postgres.ts';
import { Child } from './child.ts';
import type { Service } from './service.ts';

export interface RedisService extends Service {
  flushAll(): Promise<void>;
}

const START_DEADLINE_MS = 30_000;
const TERM_GRACE_MS = 5_000;

/** A Redis server with its append-only file, as the README asks for it. */
export async function openRedis(folder: string): Promise<RedisService> {
  const data = join(folder, 'redis');
  mkdirSync(data);
  const port = await findFreePort();
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', data, '--save', ''];
  args.push('--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction');
  let child: Child | undefined;
  let starting: Promise<void> | undefined;

  async function ask<T>(question: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis({
      port,
      host: '127.0.0.1',
      lazyConnect: true,
      retryStrategy: () => null,
      commandTimeout: 2_000,
    });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await question(redis);
    } finally {
      redis.disconnect();
    }
  }

  async function start(): Promise<void> {
    const deadline = Date.now() + START_DEADLINE_MS;
    while (Date.now() < deadline) {
      if (child === undefined || child.hasExited)
        child = await Child.start({
          program: 'redis-server',
          args,
          cwd: data,
          logFile: join(folder, 'redis.log'),
        });
      // Refuses with LOADING until the append-only file is read.
      if (
        await ask((redis) => redis.ping()).then(
          () => true,
          () => false,
        )
      )
        return;
      await sleep(50);
    }
    throw new Error('Redis did not start: see redis.log.');
  }

  const service: RedisService = {
    name: 'redis',
    port,
    async end(signal) {
      const ending = child;
      child = undefined;
      await ending?.end(signal, TERM_GRACE_MS);
    },
    ensure() {
      starting ??= (child === undefined || child.hasExited ? start() : Promise.resolve()).finally(() => {
        starting = undefined;
      });
      return starting;
    },
    async flushAll() {
      await ask((redis) => redis.flushall());
    },
    close: () => service.end('SIGTERM'),
  };
  await service.ensure();
  return service;
}
