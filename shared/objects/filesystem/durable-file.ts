import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeFailed } from '../failures.ts';
import { hasCode } from './system-error.ts';

/** No key has a segment that starts with a dot, so these names are never an object's. */
export const UNFINISHED = '.unfinished-';

/** A folder that removals empty all the time is made again so often: on a busy machine ten were once too few. */
export const MOST_ATTEMPTS = 100;

const failed = (cause: unknown): never => {
  throw writeFailed(cause);
};

/**
 * Writes a file so that it survives a power cut once this resolves: temporary file in the same folder, fsync,
 * rename, fsync of every folder above. An error of the chunks is passed on as it is; either way the temporary
 * file is removed. Resolves to the number of bytes.
 */
export async function writeDurably(
  root: string,
  key: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  const path = join(root, key);
  const temporary = join(dirname(path), `${UNFINISHED}${randomUUID()}`);
  const file = await createTemporary(temporary).catch(failed);
  let bytes = 0;
  try {
    try {
      for await (const chunk of chunks) {
        await writeAll(file, chunk).catch(failed);
        bytes += chunk.byteLength;
      }
      await file.sync().catch(failed);
    } finally {
      await file.close();
    }
    await rename(temporary, path).catch(failed);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    await removeEmptyFolders(root, dirname(path)).catch(() => undefined);
    throw error;
  }
  // All of them, not only those that this call made: another write may have made one and not synced it yet.
  await syncFolders(root, dirname(path)).catch(failed);
  return bytes;
}

/** Removes a file if it is there; the name is gone for good once this resolves. Empty folders go with it. */
export async function removeDurably(root: string, key: string): Promise<void> {
  const folder = dirname(join(root, key));
  try {
    await unlink(join(root, key)).catch((error: unknown) => {
      // A folder of that name (EISDIR) or a file in the way (ENOTDIR) is not the object either.
      if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw error;
    });
    // Also after ENOENT: an earlier removal may have died between its unlink and its sync.
    await syncFolder(await removeEmptyFolders(root, folder));
  } catch (cause) {
    throw writeFailed(cause);
  }
}

async function createTemporary(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return await open(path, 'wx', 0o600);
    } catch (error) {
      // A removal in the same folder took it away because it was empty.
      if (!hasCode(error, 'ENOENT') || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  let offset = 0;
  while (offset < chunk.byteLength) {
    offset += (await file.write(chunk, offset, chunk.byteLength - offset)).bytesWritten;
  }
}

/** Removes the folder and those above while they are empty; keeps the first level. Gives the one that stays. */
export async function removeEmptyFolders(root: string, folder: string): Promise<string> {
  let current = folder;
  while (current !== root && dirname(current) !== root) {
    try {
      await rmdir(current);
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR')) break;
    }
    current = dirname(current);
  }
  return current;
}

export async function syncFolders(root: string, folder: string): Promise<void> {
  await syncFolder(folder);
  if (folder !== root) await syncFolders(root, dirname(folder));
}

export async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle;
  try {
    folder = await open(path, 'r');
  } catch (error) {
    // Removed meanwhile, because it was empty; whoever removed it syncs the folder above.
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return;
    throw error;
  }
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
