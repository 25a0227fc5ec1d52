import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { loadConfig } from '@stowage/shared/config/config.ts';
import { type Db, openDatabase } from '@stowage/shared/database/open-database.ts';
import { prepareServices } from '../../start/prepare-services.ts';
import { type BenchClient, createBenchClient } from './client.ts';
import type { S3Server } from './optional-services.ts';
import { answers, freePort, type StartedProgram, startProgram } from './started-program.ts';

const ROOT = join(import.meta.dirname, '../../..');

export type WorkerName = 'thumbnails' | 'quota-accounting' | 'cleanup' | 'mail';

export interface StowageOptions {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  readonly s3?: S3Server | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

/** A Stowage with an empty database, started piece by piece for a measurement. */
export interface Stowage {
  readonly url: string;
  readonly apiPid: number;
  readonly db: Db;
  readonly client: BenchClient;
  readonly env: NodeJS.ProcessEnv;
  /** Value of a metric of the API: the sum of all its series whose text has the given part. */
  metric(name: string, part?: string): Promise<number>;
  /** @param core pins it to that processor core */
  startWorker(
    name: WorkerName,
    options?: { core?: number; env?: NodeJS.ProcessEnv },
  ): Promise<StartedProgram>;
  close(): Promise<void>;
}

export async function openStowage(options: StowageOptions): Promise<Stowage> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const admin = { ADMIN_EMAIL: 'bench@example.com', ADMIN_PASSWORD: randomBytes(12).toString('hex') };
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    UV_THREADPOOL_SIZE: '16',
    PORT: String(port),
    DATA_DIR: options.folder,
    DATABASE_URL: options.databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
    RATE_LIMITS: 'off',
    BCRYPT_COST: '4',
    TRUST_PROXY: '1',
    DEFAULT_MAX_QUOTA_BYTES: String(2 ** 50),
    ...(options.redisUrl !== undefined && { REDIS_URL: options.redisUrl }),
    ...(options.s3 !== undefined && {
      S3_ENDPOINT: options.s3.endpoint,
      S3_BUCKET: `bench-${randomBytes(6).toString('hex')}`,
      S3_ACCESS_KEY_ID: options.s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: options.s3.secretAccessKey,
    }),
    ...options.env,
  };
  await prepareServices(loadConfig(env));
  const db = openDatabase({
    url: options.databaseUrl,
    poolSize: 2,
    applicationName: 'stowage-bench',
    statementTimeoutMs: 300_000,
    onIdleError: () => undefined,
  });
  const url = `http://127.0.0.1:${port}`;
  const programs: StartedProgram[] = [];
  const start = async (entry: string, ownOpsPort: number, more: NodeJS.ProcessEnv, core?: number) => {
    const node = [process.execPath, join(ROOT, entry)];
    const [command = '', ...args] = core === undefined ? node : ['taskset', '-c', String(core), ...node];
    const program = await startProgram({
      command,
      args,
      env: { ...env, OPS_PORT: String(ownOpsPort), ...more },
      logFile: join(options.folder, 'log.txt'),
      isReady: () => answers(`http://127.0.0.1:${ownOpsPort}/health/ready`),
    });
    programs.push(program);
    return program;
  };
  const close = async () => {
    for (const program of programs.toReversed()) await program.stop();
    await db.destroy();
  };
  try {
    const api = await start('apps/api/src/main.ts', opsPort, admin);
    const client = await createBenchClient(url, admin.ADMIN_EMAIL, admin.ADMIN_PASSWORD);
    return {
      url,
      apiPid: api.pid,
      db,
      client,
      env,
      async metric(name, part = '') {
        const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
        const series = text.split('\n').filter((line) => line.startsWith(name) && line.includes(part));
        return series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
      },
      startWorker: async (name, { core, env: more = {} } = {}) =>
        await start(
          `workers/${name}/src/main.ts`,
          await freePort(),
          { MALLOC_ARENA_MAX: '2', ...more },
          core,
        ),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
