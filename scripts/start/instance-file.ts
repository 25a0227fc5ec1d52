import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess, type ProcessIdentity, processIdentity } from './processes.ts';
import { StartError } from './start-error.ts';

/** What the supervisor of a data folder leaves on disk, for a next start after its sudden death. */
export interface Instance {
  readonly supervisor: ProcessIdentity;
  readonly children: readonly ProcessIdentity[];
}

export interface InstanceFile {
  /** The children of a supervisor that died before us and may still be running. */
  readonly leftover: readonly ProcessIdentity[];
  record(children: readonly ProcessIdentity[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Takes the data folder for this process.
 * @throws {StartError} when another supervisor that is alive has it
 */
export async function openInstanceFile(folder: string): Promise<InstanceFile> {
  const path = join(folder, 'instance.json');
  const supervisor = await processIdentity(process.pid);
  const part = `${path}.${process.pid}`;
  const write = (children: readonly ProcessIdentity[]) =>
    writeFile(part, JSON.stringify({ supervisor, children } satisfies Instance), { mode: 0o600 });

  const leftover = await putAsideStale(path, folder);
  await write(leftover);
  try {
    await link(part, path);
  } catch (error) {
    // Somebody else was first.
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw inUse(folder);
    throw error;
  } finally {
    await rm(part, { force: true });
  }
  let last = Promise.resolve();
  return {
    leftover,
    record(children) {
      last = last.then(async () => {
        await write(children);
        await rename(part, path);
      });
      return last;
    },
    async close() {
      await last;
      await rm(path, { force: true });
    },
  };
}

/** Moves the file of a dead supervisor out of the way and returns the children that it names. */
async function putAsideStale(path: string, folder: string): Promise<readonly ProcessIdentity[]> {
  const found = await readInstance(path);
  if (found === undefined) return [];
  if (await isSameProcess(found.supervisor)) throw inUse(folder, found.supervisor.pid);
  const aside = `${path}.stale.${process.pid}`;
  await rename(path, aside).catch(() => undefined);
  // Between our look and our move another start may have taken the folder: then this is its file, and goes back.
  const moved = await readInstance(aside);
  if (moved !== undefined && (await isSameProcess(moved.supervisor))) {
    await rename(aside, path);
    throw inUse(folder, moved.supervisor.pid);
  }
  await rm(aside, { force: true });
  return found.children;
}

async function readInstance(path: string): Promise<Instance | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Instance; // only this module writes the file, and whole
  } catch {
    return undefined;
  }
}

function inUse(folder: string, pid?: number): StartError {
  const who = pid === undefined ? 'another Stowage' : `another Stowage (process ${pid})`;
  return new StartError(
    `The data folder ${folder} is in use by ${who}. Stop that one, or give this one its own DATA_DIR, PORT and OPS_PORT.`,
  );
}
