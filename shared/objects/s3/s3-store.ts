import { objectNotFound, rangeNotSatisfiable, unavailable, writeFailed } from '../failures.ts';
import { assertObjectKey, assertObjectPrefix } from '../object-keys.ts';
import type { GetOptions, ListedObject, ObjectBody, ObjectStore, ReadOptions } from '../object-store.ts';
import { putS3Object } from './put-object.ts';
import { s3Address } from './s3-address.ts';
import type { S3Control } from './s3-control.ts';
import { S3Failure } from './s3-failure.ts';
import { type S3StoreOptions, UPLOAD_BUFFER_BYTES } from './s3-options.ts';
import { createS3Requests } from './s3-requests.ts';
import { sizesByListing } from './sizes-by-listing.ts';
import { createUploadBuffers } from './upload-buffers.ts';

/**
 * Objects in one bucket of any S3 server. It needs the permissions to get, put, copy, delete and list objects, and to list
 * and abort multipart uploads; no conditional writes, no lifecycle rules.
 */
export function openS3Store(options: S3StoreOptions): ObjectStore {
  const requests = createS3Requests(options);
  const buffers = createUploadBuffers(options.uploadBufferBytes ?? UPLOAD_BUFFER_BYTES);
  const hashing = {
    sha256: !s3Address(options).encrypted,
    crc32: options.checksums === 'when_supported',
  };
  // The SDK takes 0.2 s and 25 MB to load: beside the rest of the start, and only where S3 is in use.
  const opening: Promise<S3Control> = import('./s3-control.ts').then((module) =>
    module.createS3Control(options),
  );
  opening.catch(() => undefined); // shows where it is awaited
  const control = (): Promise<S3Control> => opening;

  async function get(key: string, { range, signal }: GetOptions = {}): Promise<ObjectBody> {
    assertObjectKey(key);
    try {
      const { status, headers, stream } = await requests.get(key, {
        signal,
        ...(range !== undefined && { range: `bytes=${range.start}-${range.end}` }),
      });
      const length = Number(headers['content-length'] ?? Number.NaN);
      const fits = range === undefined || length <= range.end - range.start + 1;
      if (!Number.isSafeInteger(length) || !fits || status !== (range === undefined ? 200 : 206)) {
        stream.destroy();
        throw new Error(`The S3 server answered ${status} with ${length} bytes.`);
      }
      return { stream, length };
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      // Any other 404 (no bucket, a stranger's server) says nothing about the object.
      if (error instanceof S3Failure && error.s3Code === 'NoSuchKey') throw objectNotFound(error);
      if (error instanceof S3Failure && error.status === 416) throw rangeNotSatisfiable();
      throw unavailable(error);
    }
  }

  async function head(key: string, { signal }: ReadOptions = {}): Promise<number | undefined> {
    assertObjectKey(key);
    return reading(signal, async () => {
      const { status, length } = await requests.head(key, signal);
      if (status === 200 && length !== undefined) return length;
      // The answer to HEAD has no body that tells a missing object from a missing bucket.
      if (status === 404) await bucketAnswers(signal);
      else throw new S3Failure('HEAD', status, '');
      return undefined;
    });
  }

  async function bucketAnswers(signal: AbortSignal | undefined): Promise<void> {
    const { status } = await requests.head(undefined, signal);
    if (status !== 200) throw new S3Failure('HEAD of the bucket', status, '');
  }

  async function remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) assertObjectKey(key);
    try {
      await (await control()).delete(keys);
    } catch (error) {
      throw writeFailed(error);
    }
  }

  async function sizes(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    for (const key of keys) assertObjectKey(key);
    return reading(undefined, async () => {
      const s3 = await control();
      return sizesByListing({ list: s3.list, head }, keys);
    });
  }

  async function move(from: string, to: string): Promise<void> {
    assertObjectKey(from);
    assertObjectKey(to);
    const size = await head(from);
    if (size === undefined) throw objectNotFound();
    try {
      const s3 = await control();
      await s3.copy(from, to);
      if ((await head(to)) !== size) throw new Error('The copy differs from the original.');
      await s3.delete([from]);
    } catch (error) {
      // Another move of the same object was faster.
      if (error instanceof Error && error.name === 'NoSuchKey') throw objectNotFound(error);
      throw writeFailed(error);
    }
  }

  async function* list(prefix: string): AsyncGenerator<ListedObject> {
    assertObjectPrefix(prefix);
    try {
      yield* (await control()).list(prefix);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async function dropUnfinished(prefix: string): Promise<void> {
    assertObjectPrefix(prefix);
    await reading(undefined, async () => {
      const s3 = await control();
      for await (const { key, uploadId } of s3.unfinished(prefix)) await s3.abortMultipart(key, uploadId);
    });
  }

  return {
    kind: 's3',
    async put(key, body, putOptions) {
      assertObjectKey(key);
      return putS3Object({ requests, control, buffers, hashing }, key, body, putOptions);
    },
    get,
    head,
    sizes,
    move,
    delete: remove,
    list,
    dropUnfinished,
    check: (signal) => reading(signal, () => bucketAnswers(signal)),
    async close() {
      await requests.close();
      (await control()).close();
    },
  };
}

async function reading<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  try {
    signal?.throwIfAborted();
    return await work();
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    throw unavailable(error);
  }
}
