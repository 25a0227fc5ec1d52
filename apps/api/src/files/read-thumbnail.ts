import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { PictureFormat } from '@stowage/shared/images/picture-format.ts';
import type { RenderPool } from '@stowage/shared/images/render-pool.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { ByteCache, CachedBytes } from './byte-cache.ts';
import { loadThumbnail } from './load-thumbnail.ts';
import type { RenderAdmission } from './render-admission.ts';
import type { SingleFlight } from './single-flight.ts';
import { assertRenderable, type ThumbnailFile } from './thumbnail-file.ts';

export interface ThumbnailDeps {
  readonly db: Db;
  readonly store: ObjectStore;
  readonly pool: RenderPool;
  /** The row of a stored file (undefined when there is none, or it is being deleted), at most 250 ms old. */
  readonly lookUpFile: (stem: string) => Promise<ThumbnailFile | undefined>;
  readonly cache: ByteCache;
  readonly flights: SingleFlight<CachedBytes>;
  readonly admission: RenderAdmission;
  /** Widths in px that a worker renders ahead. */
  readonly thumbnailWidths: readonly number[];
  readonly maxInputPixels: number;
}

export interface ThumbnailAsked {
  readonly stem: string;
  readonly extension: string;
  /** px; undefined for the full size, which exists as WebP only. */
  readonly width?: number | undefined;
  readonly webp: boolean;
  /** Whose share of the renders it takes. */
  readonly clientIp: string;
  /** Aborted when the reader is gone. */
  readonly signal: AbortSignal;
}

export interface Thumbnail {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** In quotes; the hash of the bytes. */
  readonly etag: string;
  readonly cacheControl: string;
}

const MAX_WIDTH = 4_096;
/** How long bytes from memory are served while Postgres does not say whether their file is still there. */
const UNCONFIRMED_MS = 5 * 60_000;

/**
 * A thumbnail of exactly the width asked for: from memory, else the worker's from the object store, else rendered
 * now and kept in memory only.
 * @throws AppError INVALID_WIDTH, THUMBNAIL_TOO_LARGE, FILE_NOT_FOUND, NOT_A_PICTURE, PICTURE_FORMAT_NOT_RENDERED,
 *   PICTURE_UNREADABLE, PICTURE_TOO_LARGE, RENDER_CRASHED, RENDER_TIMED_OUT, OVERLOADED, and those of the store
 */
export async function readThumbnail(deps: ThumbnailDeps, asked: ThumbnailAsked): Promise<Thumbnail> {
  if (asked.width !== undefined) assertWidth(asked.width);
  const key = `${asked.stem}.${asked.extension}_${asked.width ?? 'full'}${asked.webp ? '/webp' : ''}`;
  let file: ThumbnailFile | undefined;
  try {
    file = await deps.lookUpFile(asked.stem);
  } catch (error) {
    const kept = deps.cache.getConfirmedWithin(key, UNCONFIRMED_MS);
    if (kept === undefined) throw error;
    return present(kept);
  }
  if (file === undefined || file.extension !== asked.extension) {
    deps.cache.delete(key);
    throw new AppError('FILE_NOT_FOUND', 'There is no such file.');
  }
  const stored = assertRenderable(file);
  const cached = deps.cache.get(key);
  if (cached !== undefined && !(cached.provisional && file.render_state !== 'pending')) {
    deps.cache.confirm(key);
    return present(cached);
  }
  const format: PictureFormat = asked.webp ? 'webp' : stored;
  const load = (signal: AbortSignal) =>
    loadThumbnail(deps, { file, stored, format, width: asked.width, clientIp: asked.clientIp, signal });
  const loaded = await deps.flights.run(key, load, asked.signal);
  deps.cache.set(key, loaded);
  return present(loaded);
}

function assertWidth(width: number): void {
  if (Number.isInteger(width) && width >= 1 && width <= MAX_WIDTH) return;
  throw new AppError('INVALID_WIDTH', `A thumbnail is 1 to ${MAX_WIDTH} pixels wide.`, {
    details: { min: 1, max: MAX_WIDTH },
  });
}

function present({ bytes, contentType, etag, provisional }: CachedBytes): Thumbnail {
  const cacheControl = provisional ? 'public, max-age=60' : 'public, max-age=31536000, immutable';
  return { bytes, contentType, etag, cacheControl };
}
