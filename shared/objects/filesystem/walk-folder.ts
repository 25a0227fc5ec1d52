import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from './system-error.ts';

/** Every file below a folder, with its path; nothing when there is no such folder. Folders may vanish meanwhile. */
export async function* walkFolder(folder: string): AsyncGenerator<{ path: string; name: string }> {
  let entries: AsyncIterable<Dirent>;
  try {
    entries = await opendir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return;
    throw error;
  }
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walkFolder(path);
    else yield { path, name: entry.name };
  }
}
