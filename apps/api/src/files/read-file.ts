import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange, ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { ByteCache, CachedBytes } from './byte-cache.ts';
import { fileNotFound } from './file-name.ts';
import type { FileLookUp, StoredFile } from './look-up-file.ts';
import type { SingleFlight } from './single-flight.ts';

export interface ReadFileDeps {
  readonly files: FileLookUp;
  readonly objects: ObjectStore;
  readonly cache: ByteCache;
  readonly flights: SingleFlight<CachedBytes>;
}

/** Originals up to this many bytes are kept in memory. */
const MOST_CACHED_BYTES = 1024 * 1024;

/**
 * The row of a stored file. When Postgres does not answer, what it last said counts for five minutes.
 * @throws {AppError} FILE_NOT_FOUND
 */
export async function findFile(files: FileLookUp, stem: string, extension: string): Promise<StoredFile> {
  const file = await files.find(stem).catch((error: unknown) => {
    const known = files.lastKnown(stem);
    if (known === undefined) throw error;
    return known;
  });
  if (file === undefined || file.extension !== extension) throw fileNotFound();
  return file;
}

/**
 * The stored bytes, or a range of them: small files from memory, large ones straight from the store.
 * @param readerGone gives the signal that ends the reading; not asked for when the bytes are in memory
 */
export async function openFile(
  deps: ReadFileDeps,
  file: StoredFile,
  range: ByteRange | undefined,
  readerGone: () => AbortSignal,
): Promise<Uint8Array | Readable> {
  const { objects, cache, flights } = deps;
  if (file.size_bytes > MOST_CACHED_BYTES) {
    const { stream } = await objects.get(file.object_key, { signal: readerGone(), ...(range && { range }) });
    return stream;
  }
  const key = file.object_key;
  const cached = cache.get(key);
  if (cached !== undefined) return sliced(cached.bytes, range);
  const load = async (loading: AbortSignal): Promise<CachedBytes> => {
    const { stream } = await objects.get(file.object_key, { signal: loading });
    return {
      bytes: await buffer(stream),
      contentType: file.content_type,
      etag: etagOf(file),
      provisional: false,
    };
  };
  const loaded = await flights.run(key, load, readerGone());
  cache.set(key, loaded);
  return sliced(loaded.bytes, range);
}

function sliced(bytes: Uint8Array, range: ByteRange | undefined): Uint8Array {
  return range === undefined ? bytes : bytes.subarray(range.start, range.end + 1);
}

export function etagOf(file: StoredFile): string {
  return `"${file.sha256}"`;
}
