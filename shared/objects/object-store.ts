/** Bytes of one object on their way out. */
export interface ObjectBody {
  /** The bytes of the range asked for, or all of them. Destroying the stream releases everything behind it. */
  readonly stream: import('node:stream').Readable;
  /** Length in bytes of what the stream will give. */
  readonly length: number;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

export interface ByteRange {
  /** First byte, from 0. */
  readonly start: number;
  /** Last byte, inclusive, as in HTTP. */
  readonly end: number;
}

export interface PutOptions {
  readonly contentType: string;
  /** Aborting it stops the write and leaves no object, no part and no temporary file. */
  readonly signal?: AbortSignal;
}

/**
 * Where the bytes are. Keys are `/`-separated segments of `[A-Za-z0-9._-]`; each is written once and never
 * changed. Every method has a deadline and throws `AppError`: `OBJECT_NOT_FOUND`, `OBJECT_STORE_WRITE_FAILED`
 * (put, delete) or `OBJECT_STORE_UNAVAILABLE` (all others). An abort rejects with the signal's reason.
 */
export interface ObjectStore {
  readonly kind: 'filesystem' | 's3';

  /**
   * Writes one object. It resolves when the bytes are durable, with their number. The body is read once, with
   * back-pressure, and holds at most one part in memory. An error thrown by the body rejects the put with that
   * error and leaves nothing behind.
   */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options: PutOptions): Promise<number>;

  /** Reads one object, or one range of it. */
  get(key: string, options?: { range?: ByteRange; signal?: AbortSignal }): Promise<ObjectBody>;

  /** Size in bytes, or undefined when there is no such object. */
  head(key: string, options?: { signal?: AbortSignal }): Promise<number | undefined>;

  /** Removes the keys. It resolves once the store has confirmed that all are gone; unknown keys are no error. */
  delete(keys: readonly string[]): Promise<void>;

  /** Every object under the prefix (exact, ends in `/`), in no particular order. Streams; never all in memory. */
  list(prefix: string): AsyncIterable<ListedObject>;

  /** Drops what unfinished writes under the prefix left behind: temporary files, or S3 multipart uploads. */
  dropUnfinished(prefix: string): Promise<void>;

  /** Resolves when the store can be written to and read from; used by readiness checks. */
  check(signal: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
