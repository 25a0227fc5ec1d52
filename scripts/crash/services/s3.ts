import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../start/postgres/embedded-postgres.ts';
import { Child } from './child.ts';
import type { Disk } from './disk.ts';
import type { Service } from './service.ts';

export interface S3Service extends Service {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const START_DEADLINE_MS = 30_000;
const TERM_GRACE_MS = 5_000;

/** versitygw, which keeps objects as files on the given disk. */
export async function openS3(folder: string, disk: Disk): Promise<S3Service> {
  const program = findVersitygw();
  const port = await findFreePort();
  const accessKeyId = 'crash';
  const secretAccessKey = 'only-in-this-test';
  const args = ['--quiet', '-a', accessKeyId, '-s', secretAccessKey, '--port', `127.0.0.1:${port}`];
  args.push('--health', '/health', 'posix', disk.folder);
  let child: Child | undefined;
  let starting: Promise<void> | undefined;

  async function start(): Promise<void> {
    const deadline = Date.now() + START_DEADLINE_MS;
    while (Date.now() < deadline) {
      if (child === undefined || child.hasExited)
        child = await Child.start({ program, args, cwd: folder, logFile: join(folder, 's3.log') });
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.ok === true) return;
      await sleep(50);
    }
    throw new Error('The S3 server did not start: see s3.log.');
  }

  const service: S3Service = {
    name: 's3',
    port,
    accessKeyId,
    secretAccessKey,
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
    close: () => service.end('SIGTERM'),
  };
  await service.ensure();
  return service;
}

/** On PATH, or where `.ci/run` has built it. */
function findVersitygw(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folders = [...(process.env.PATH ?? '').split(delimiter), join(cache, 'stowage-ci', 'bin')];
  for (const folder of folders) {
    const program = join(folder, 'versitygw');
    try {
      accessSync(program, constants.X_OK);
      return program;
    } catch {
      // Not there.
    }
  }
  throw new Error('There is no versitygw on PATH: `.ci/run` builds one, see scripts/ci/services.sh.');
}
