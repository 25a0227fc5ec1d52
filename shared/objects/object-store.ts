import type { Readable } from 'node:stream';

/** Bytes of one object on their way out. */
export interface ObjectBody {
  /**
   * The bytes of the range asked for, or all of them. Destroying the stream releases everything behind it; so
   * whoever takes a body reads it to the end or destroys it. A store that fails on the way ends it with
   * `OBJECT_STORE_UNAVAILABLE`, an abort with the signal's reason; before anybody reads it, whoever does is told.
   */
  readonly stream: Readable;
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
  /** Last byte, inclusive, as in HTTP. One past the end of the object means its last byte. */
  readonly end: number;
}

export interface PutOptions {
  readonly contentType: string;
  /**
   * Aborting it stops the write and leaves no part and no temporary file, and no object unless the store already
   * had its last byte (see `put`).
   */
  readonly signal?: AbortSignal;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

export interface GetOptions extends ReadOptions {
  readonly range?: ByteRange;
}

/**
 * Where the bytes are. Keys are `/`-separated segments of `[A-Za-z0-9._-]` that do not start with a dot; each key
 * always names the same bytes. Every method has a deadline and throws `AppError`: `OBJECT_NOT_FOUND` and
 * `RANGE_NOT_SATISFIABLE` (get), `OBJECT_STORE_WRITE_FAILED` (put, move, delete) or `OBJECT_STORE_UNAVAILABLE` (all
 * others). An abort rejects with the signal's reason.
 */
export interface ObjectStore {
  readonly kind: 'filesystem' | 's3';

  /**
   * Writes one object. It resolves when the bytes are durable, with their number. The body is read once, with
   * back-pressure, and holds at most two parts of 8 MiB in memory. An error thrown by the body rejects the put
   * with that error and leaves nothing behind.
   *
   * When the connection breaks after the last byte was sent, nobody can know whether the object exists: the put
   * rejects, and the object may be there, even a little later. So callers write their intent down first, and
   * whoever gives the intent up deletes the key (twice, with a pause).
   */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options: PutOptions): Promise<number>;

  /** Reads one object, or one range of it. A range that starts past the end is `RANGE_NOT_SATISFIABLE`. */
  get(key: string, options?: GetOptions): Promise<ObjectBody>;

  /** Size in bytes, or undefined when there is no such object. */
  head(key: string, options?: ReadOptions): Promise<number | undefined>;

  /**
   * Sizes in bytes of those of the keys that exist. For looking through many: ascending keys with little between
   * them cost an S3 server one request for a thousand.
   */
  sizes(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /**
   * Gives an object another key, and the time of this as its `modifiedAt`. It resolves when the bytes are durable
   * there and gone here; cut short, the object is under one key or both, and a second call ends it. An object that
   * has the new key already is replaced. `OBJECT_NOT_FOUND` when there is nothing to move.
   */
  move(from: string, to: string): Promise<void>;

  /** Removes the keys. It resolves once the store has confirmed that all are gone; unknown keys are no error. */
  delete(keys: readonly string[]): Promise<void>;

  /** Every object under the prefix (exact, ends in `/`), in no particular order. Streams; never all in memory. */
  list(prefix: string): AsyncIterable<ListedObject>;

  /**
   * Drops what unfinished writes under the prefix (exact, ends in `/`) left behind: temporary files, or S3
   * multipart uploads. A write that is still going on under the prefix fails.
   */
  dropUnfinished(prefix: string): Promise<void>;

  /**
   * Resolves when the store answers to us: the folder takes a file, or the bucket answers our credentials. Used by
   * readiness checks: a few milliseconds, and nothing is left behind.
   */
  check(signal: AbortSignal): Promise<void>;

  /** Ends idle connections. Called once nothing is under way. */
  close(): Promise<void>;
}
