import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findProgram } from './find-program.ts';
import { answers, freePort, type StartedProgram, startProgram } from './started-program.ts';

export interface RedisServer extends StartedProgram {
  readonly url: string;
}

export interface S3Server extends StartedProgram {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A Redis of our own, when it is installed. */
export async function startRedis(folder: string): Promise<RedisServer | undefined> {
  const command = await findProgram('redis-server');
  if (command === undefined) return undefined;
  const port = await freePort();
  const program = await startProgram({
    command,
    args: [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'no',
    ],
    logFile: join(folder, 'redis.log'),
    isReady: () => isRedisReady(port),
  });
  return { ...program, url: `redis://127.0.0.1:${port}` };
}

async function isRedisReady(port: number): Promise<boolean> {
  const redis = new Redis({ port, lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } finally {
    redis.disconnect();
  }
}

/** An S3 server of our own (versitygw, on a folder), when it is installed. */
export async function startS3(folder: string): Promise<S3Server | undefined> {
  const command = await findProgram('versitygw');
  if (command === undefined) return undefined;
  const port = await freePort();
  const objects = join(folder, 'buckets');
  await mkdir(objects);
  const [accessKeyId, secretAccessKey] = ['bench', 'bench-secret-of-this-run'];
  const program = await startProgram({
    command,
    args: [
      ...['--quiet', '-a', accessKeyId, '-s', secretAccessKey],
      ...['--port', `127.0.0.1:${port}`, '--health', '/health', 'posix', objects],
    ],
    logFile: join(folder, 's3.log'),
    isReady: () => answers(`http://127.0.0.1:${port}/health`),
  });
  return { ...program, endpoint: `http://127.0.0.1:${port}`, accessKeyId, secretAccessKey };
}
