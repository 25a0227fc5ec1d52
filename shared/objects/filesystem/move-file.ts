import { mkdir, rename, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { objectNotFound, writeFailed } from '../failures.ts';
import { MOST_ATTEMPTS, removeEmptyFolders, syncFolder, syncFolders } from './durable-file.ts';
import { hasCode } from './system-error.ts';

/**
 * Renames a file so that it survives a power cut once this resolves, and sets its time to now. Folders that are
 * empty after it go. The new name is durable before the old one is gone for good.
 */
export async function moveDurably(root: string, from: string, to: string): Promise<void> {
  const source = join(root, from);
  const target = join(root, to);
  if (!(await isFile(source))) throw objectNotFound();
  try {
    await renameIntoFolder(source, target);
    await syncFolders(root, dirname(target));
    await syncFolder(await removeEmptyFolders(root, dirname(source)));
  } catch (cause) {
    // Another move of the same object was faster.
    if (hasCode(cause, 'ENOENT') && !(await isFile(source))) throw objectNotFound(cause);
    throw writeFailed(cause);
  }
}

async function renameIntoFolder(source: string, target: string): Promise<void> {
  const now = new Date();
  await utimes(source, now, now);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await rename(source, target);
      return;
    } catch (error) {
      // A removal in the target's folder took that away because it was empty.
      if (!hasCode(error, 'ENOENT') || attempt === MOST_ATTEMPTS || !(await isFile(source))) throw error;
    }
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw writeFailed(error);
  }
}
