import { LRUCache } from 'lru-cache';

/** Bytes of an original or a thumbnail as they are answered. */
export interface CachedBytes {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** A strong entity tag, in quotes. */
  readonly etag: string;
  /** A thumbnail that was rendered for a reader while the worker's own is still to come. */
  readonly provisional: boolean;
}

interface Entry {
  readonly value: CachedBytes;
  confirmedAtMs: number;
}

export interface ByteCacheOptions {
  /** Most bytes of all entries together; 0 keeps nothing. */
  readonly maxBytes: number;
  /** Most bytes of one entry; larger ones are not kept. */
  readonly maxEntryBytes?: number;
  readonly now?: () => number;
}

/** What an entry takes beside its bytes, roughly: key, objects, map slots. */
const ENTRY_OVERHEAD_BYTES = 500;

/** The least recently read bytes leave first. Bounded in bytes, not in entries. */
export class ByteCache {
  readonly #entries: LRUCache<string, Entry> | undefined;
  readonly #now: () => number;

  constructor(options: ByteCacheOptions) {
    this.#now = options.now ?? Date.now;
    if (options.maxBytes === 0) return;
    this.#entries = new LRUCache({
      maxSize: options.maxBytes,
      maxEntrySize: options.maxEntryBytes ?? Math.ceil(options.maxBytes / 8),
      sizeCalculation: (entry) => entry.value.bytes.length + ENTRY_OVERHEAD_BYTES,
    });
  }

  /** Whoever takes an entry must know from the file's row that it may still be served: see `confirm`. */
  get(key: string): CachedBytes | undefined {
    return this.#entries?.get(key)?.value;
  }

  set(key: string, value: CachedBytes): void {
    this.#entries?.set(key, { value, confirmedAtMs: this.#now() });
  }

  /** Notes that the file's row was there just now. */
  confirm(key: string): void {
    const entry = this.#entries?.peek(key);
    if (entry !== undefined) entry.confirmedAtMs = this.#now();
  }

  /** The entry, if its file was there within that many ms: for the time in which Postgres does not answer. */
  getConfirmedWithin(key: string, ms: number): CachedBytes | undefined {
    const entry = this.#entries?.get(key);
    return entry !== undefined && this.#now() - entry.confirmedAtMs <= ms ? entry.value : undefined;
  }

  delete(key: string): void {
    this.#entries?.delete(key);
  }
}
