import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../errors/app-error.ts';
import type { ObjectStore } from '../objects/object-store.ts';

/** The SHA-256 of an object's bytes in lower-case hex; undefined when there is no such object. */
export async function readAndHash(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { stream } = await store.get(key, { signal });
    const hash = createHash('sha256');
    await pipeline(stream, hash, { signal });
    return hash.digest('hex');
  } catch (error) {
    if (error instanceof AppError && error.code === 'OBJECT_NOT_FOUND') return undefined;
    throw error;
  }
}
