import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { openEmbeddedPostgres } from '../../start/postgres/embedded-postgres.ts';
import { findProgram } from './find-program.ts';
import { type RedisServer, type S3Server, startRedis, startS3 } from './optional-services.ts';
import { createPictures, type Pictures } from './pictures.ts';
import { openStowage, type Stowage } from './stowage.ts';

export interface Rig {
  /** Removed at the end, with all that was stored. */
  readonly folder: string;
  readonly pictures: Pictures;
  readonly redis: RedisServer | undefined;
  readonly s3: S3Server | undefined;
  /** Full path of nginx. */
  readonly nginx: string | undefined;
  /** Shown while the benchmark runs. */
  say(text: string): void;
  /**
   * Runs the work on a Stowage with an empty database: on Redis and S3 where they are there and wanted, else on the
   * embedded parts.
   */
  withStowage<T>(wanted: StowageWanted, work: (stowage: Stowage) => Promise<T>): Promise<T>;
}

export interface StowageWanted {
  readonly redis?: boolean;
  readonly s3?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts what all parts share. */
export async function openRig({
  images,
}: {
  readonly images: string | undefined;
}): Promise<Rig & { close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-bench-'));
  const say = (text: string) => console.error(text);
  const postgres = await openEmbeddedPostgres({
    folder: join(folder, 'postgres'),
    settings: { shared_buffers: '256MB', max_wal_size: '4GB' },
  });
  const redis = await startRedis(folder);
  const s3 = await startS3(folder);
  const nginx = await findProgram('nginx');
  say(`Redis: ${found(redis)}. S3 server (versitygw): ${found(s3)}. nginx: ${found(nginx)}.`);

  async function withStowage<T>(wanted: StowageWanted, work: (stowage: Stowage) => Promise<T>): Promise<T> {
    const name = `bench_${randomBytes(6).toString('hex')}`;
    const own = join(folder, name);
    await mkdir(own);
    await execute(postgres.url, `CREATE DATABASE ${name}`);
    if (wanted.redis && redis !== undefined) await emptyRedis(redis.url);
    try {
      const stowage = await openStowage({
        folder: own,
        databaseUrl: postgres.url.replace(/[^/]*$/, name),
        redisUrl: wanted.redis ? redis?.url : undefined,
        s3: wanted.s3 ? s3 : undefined,
        env: wanted.env ?? {},
      });
      try {
        return await work(stowage);
      } finally {
        await stowage.close();
      }
    } finally {
      await execute(postgres.url, `DROP DATABASE ${name} WITH (FORCE)`);
      await rm(own, { recursive: true, force: true });
    }
  }

  return {
    folder,
    pictures: createPictures(images),
    redis,
    s3,
    nginx,
    say,
    withStowage,
    async close() {
      await s3?.stop();
      await redis?.stop();
      await postgres.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function found(service: unknown): string {
  return service === undefined ? 'not installed, its lines are left out' : 'yes';
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function emptyRedis(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushall();
  redis.disconnect();
}
