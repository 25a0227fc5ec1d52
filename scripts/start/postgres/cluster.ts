import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresBinaries } from './binaries.ts';
import type { RunAs } from './run-as.ts';

/** The superuser of the embedded server. */
export const POSTGRES_USER = 'stowage';

export interface ClusterOptions {
  /** Holds `data` (the cluster), `password` and `server.log`. */
  readonly folder: string;
  readonly binaries: PostgresBinaries;
  readonly runAs: RunAs;
  /** False only for tests: nothing is flushed to the disk. */
  readonly durable: boolean;
}

/**
 * How a server started as another user names its data folder. That user need not be able to enter the folders
 * above (they may be private to root): the kernel resolves this link to the current directory without asking.
 */
export function dataFolderArgument(dataFolder: string, runAs: RunAs): string {
  return runAs.uid === undefined ? dataFolder : '/proc/self/cwd';
}

/** Makes the cluster unless it is there, and returns the password of its superuser. */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const data = join(options.folder, 'data');
  const passwordFile = join(options.folder, 'password');
  if ((await stat(join(data, 'PG_VERSION')).catch(() => undefined)) !== undefined) {
    return (await readFile(passwordFile, 'utf8')).trim();
  }
  // Made aside and renamed when complete: an interrupted first start leaves nothing that looks like a cluster.
  const part = join(options.folder, 'data.new');
  await rm(part, { recursive: true, force: true });
  await rm(data, { recursive: true, force: true });
  await mkdir(part, { mode: 0o700 });
  if (options.runAs.uid !== undefined && options.runAs.gid !== undefined) {
    await chown(part, options.runAs.uid, options.runAs.gid);
  }
  const password = randomBytes(24).toString('hex');
  await rm(passwordFile, { force: true });
  const file = await open(passwordFile, 'wx', 0o600);
  try {
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await initialise(part, password, options);
  await rename(part, data);
  return password;
}

async function initialise(data: string, password: string, options: ClusterOptions): Promise<void> {
  const { runAs, binaries } = options;
  // initdb reads the password through an inherited descriptor of a file that has no name any more.
  const path = join(options.folder, 'password.initdb');
  await rm(path, { force: true });
  const file = await open(path, 'wx+', 0o600);
  try {
    await file.writeFile(`${password}\n`);
    if (runAs.uid !== undefined && runAs.gid !== undefined) await file.chown(runAs.uid, runAs.gid);
    await runInitdb(
      binaries.initdb,
      [
        `--pgdata=${dataFolderArgument(data, runAs)}`,
        `--username=${POSTGRES_USER}`,
        `--pwfile=${runAs.uid === undefined ? path : '/proc/self/fd/3'}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // The same order and case rules on every machine, whatever locales it has.
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        ...(options.durable ? [] : ['--no-sync']),
      ],
      { ...runAs, cwd: data, stdio: ['ignore', 'pipe', 'pipe', file.fd] },
    );
  } finally {
    await file.close();
    await unlink(path).catch(() => undefined);
  }
}

async function runInitdb(
  program: string,
  args: string[],
  options: Parameters<typeof spawn>[2],
): Promise<void> {
  const child = spawn(program, args, options);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`initdb failed:\n${output.trim()}`);
}
