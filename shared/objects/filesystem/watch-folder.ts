import { existsSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors/app-error.ts';
import { unavailable, writeFailed } from '../failures.ts';
import type { ObjectStore } from '../object-store.ts';

/** Its name is no object's: see `UNFINISHED`. */
const MARKER = '.stowage-objects';

/**
 * Tells a folder without an object from a folder that is not there, such as a volume that has come off: a file in it
 * marks it when it is opened. Without the mark nothing is missing, removed or stored, only unavailable: else what is
 * on the volume would be counted as gone, and what is stored would go where nobody finds it again.
 */
export function watchFolder(store: ObjectStore, folder: string): ObjectStore {
  const marker = join(folder, MARKER);
  if (!existsSync(marker)) writeFileSync(marker, '', { mode: 0o600 });

  const cameOff = async () => {
    const error: unknown = await stat(marker).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    return error === undefined
      ? undefined
      : new Error('The folder of the objects is not there.', { cause: error });
  };
  const assertReadable = async () => {
    const error = await cameOff();
    if (error !== undefined) throw unavailable(error);
  };
  const assertWritable = async () => {
    const error = await cameOff();
    if (error !== undefined) throw writeFailed(error);
  };

  return {
    ...store,
    async put(...args) {
      await assertWritable();
      const bytes = await store.put(...args);
      await assertWritable();
      return bytes;
    },
    async get(...args) {
      return await store.get(...args).catch(async (error: unknown) => {
        if (error instanceof AppError && error.code === 'OBJECT_NOT_FOUND') await assertReadable();
        throw error;
      });
    },
    async head(...args) {
      const size = await store.head(...args);
      if (size === undefined) await assertReadable();
      return size;
    },
    async sizes(keys) {
      const found = await store.sizes(keys);
      if (found.size < new Set(keys).size) await assertReadable();
      return found;
    },
    async move(...args) {
      await assertWritable();
      await store.move(...args);
      await assertWritable();
    },
    async delete(keys) {
      await store.delete(keys);
      await assertWritable();
    },
    async *list(prefix) {
      yield* store.list(prefix);
      await assertReadable();
    },
    async check(signal) {
      await assertReadable();
      await store.check(signal);
    },
  };
}
