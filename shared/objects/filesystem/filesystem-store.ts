import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { type FileHandle, open, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import pLimit from 'p-limit';
import { destroyOnAbort } from '../destroy-on-abort.ts';
import { objectNotFound, rangeNotSatisfiable, unavailable } from '../failures.ts';
import { interruptibleBody, type ObjectBytes } from '../interruptible-body.ts';
import { assertObjectKey, assertObjectPrefix } from '../object-keys.ts';
import type {
  GetOptions,
  ListedObject,
  ObjectBody,
  ObjectStore,
  PutOptions,
  ReadOptions,
} from '../object-store.ts';
import { removeDurably, removeEmptyFolders, UNFINISHED, writeDurably } from './durable-file.ts';
import { FileRangeStream } from './file-range-stream.ts';

import { moveDurably } from './move-file.ts';
import { hasCode } from './system-error.ts';
import { walkFolder } from './walk-folder.ts';
import { watchFolder } from './watch-folder.ts';

const MISSING = ['ENOENT', 'ENOTDIR', 'EISDIR'] as const;
/** Files that are looked at together, so that a disk can answer out of order. */
const LOOKS_AT_ONCE = 8;

/**
 * Objects as files of one folder, one file per object, for one machine. The keys are the paths. Calls to the file
 * system have no deadline: the kernel offers none, so the folder should be on a local disk.
 */
export function openFilesystemStore(options: { readonly folder: string }): ObjectStore {
  const root = resolve(options.folder);
  mkdirSync(root, { recursive: true, mode: 0o700 });

  async function put(key: string, body: ObjectBytes, { signal }: PutOptions): Promise<number> {
    assertObjectKey(key);
    return writeDurably(root, key, interruptibleBody(body, signal ?? new AbortController().signal));
  }

  async function get(key: string, { range, signal }: GetOptions = {}): Promise<ObjectBody> {
    assertObjectKey(key);
    signal?.throwIfAborted();
    const file = await openFile(join(root, key));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw objectNotFound();
      if (range !== undefined && range.start >= stats.size) throw rangeNotSatisfiable();
      const start = range?.start ?? 0;
      const length = Math.min(range?.end ?? stats.size, stats.size - 1) + 1 - start;
      signal?.throwIfAborted();
      const stream = new FileRangeStream(file, start, length);
      destroyOnAbort(stream, signal);
      return { stream, length };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async function head(key: string, { signal }: ReadOptions = {}): Promise<number | undefined> {
    assertObjectKey(key);
    signal?.throwIfAborted();
    try {
      const stats = await stat(join(root, key));
      return stats.isFile() ? stats.size : undefined;
    } catch (error) {
      if (hasCode(error, ...MISSING)) return undefined;
      throw unavailable(error);
    }
  }

  async function sizes(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    await pLimit(LOOKS_AT_ONCE).map(keys, async (key) => {
      const size = await head(key);
      if (size !== undefined) found.set(key, size);
    });
    return found;
  }

  async function move(from: string, to: string): Promise<void> {
    assertObjectKey(from);
    assertObjectKey(to);
    await moveDurably(root, from, to);
  }

  async function remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) assertObjectKey(key);
    for (const key of keys) await removeDurably(root, key);
  }

  async function* list(prefix: string): AsyncGenerator<ListedObject> {
    assertObjectPrefix(prefix);
    try {
      for await (const { path, name } of walkFolder(join(root, prefix))) {
        if (name.startsWith('.')) continue;
        const stats = await stat(path).catch((error: unknown) => {
          if (hasCode(error, ...MISSING)) return undefined; // removed meanwhile
          throw error;
        });
        if (stats?.isFile()) {
          yield { key: relative(root, path), sizeBytes: stats.size, modifiedAt: stats.mtime };
        }
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  async function dropUnfinished(prefix: string): Promise<void> {
    assertObjectPrefix(prefix);
    try {
      for await (const { path, name } of walkFolder(join(root, prefix))) {
        if (!name.startsWith(UNFINISHED)) continue;
        await rm(path, { force: true });
        await removeEmptyFolders(root, dirname(path));
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  async function check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const probe = join(root, `.check-${randomUUID()}`);
    try {
      await writeFile(probe, 'x', { flag: 'wx', mode: 0o600, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(error);
    } finally {
      await rm(probe, { force: true }).catch(() => undefined);
    }
  }

  const store: ObjectStore = {
    kind: 'filesystem',
    put,
    get,
    head,
    sizes,
    move,
    delete: remove,
    list,
    dropUnfinished,
    check,
    close: () => Promise.resolve(),
  };
  return watchFolder(store, root);
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (hasCode(error, ...MISSING)) throw objectNotFound();
    throw unavailable(error);
  }
}
