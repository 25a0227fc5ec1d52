import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { assertNotTooLarge } from '@stowage/shared/images/input-limit.ts';
import { contentTypeOf, type PictureFormat } from '@stowage/shared/images/picture-format.ts';
import type { RenderRequest } from '@stowage/shared/images/render-request.ts';
import { assertNotFailed } from '@stowage/shared/renders/render-failure.ts';
import type { CachedBytes } from './byte-cache.ts';
import type { ThumbnailDeps } from './read-thumbnail.ts';
import type { ThumbnailFile } from './thumbnail-file.ts';

export interface ThumbnailWanted {
  readonly file: ThumbnailFile;
  /** The format of the original. */
  readonly stored: PictureFormat;
  /** The format asked for. */
  readonly format: PictureFormat;
  /** px; undefined for the original's own. */
  readonly width: number | undefined;
  readonly clientIp: string;
  readonly signal: AbortSignal;
}

type LoadDeps = Pick<
  ThumbnailDeps,
  'db' | 'store' | 'pool' | 'admission' | 'thumbnailWidths' | 'maxInputPixels'
>;

interface StoredVariant {
  readonly width: number;
  readonly object_key: string;
  readonly sha256: string;
}

/** A thumbnail that is not in memory: the worker's from the store, else rendered now. */
export async function loadThumbnail(deps: LoadDeps, wanted: ThumbnailWanted): Promise<CachedBytes> {
  const { file, format } = wanted;
  const width = wanted.width ?? file.width;
  const provisional =
    file.render_state === 'pending' && width !== null && deps.thumbnailWidths.includes(width);
  const variants = await findVariants(deps, file.id, format);
  const exact = variants.find((variant) => variant.width === width);
  const found = exact && (await readVariant(deps, exact, wanted.signal));
  const { bytes, sha256 } = found ?? (await render(deps, wanted, variants));
  return { bytes, contentType: contentTypeOf(format), etag: `"${sha256}"`, provisional };
}

async function findVariants(deps: LoadDeps, fileId: string, format: PictureFormat): Promise<StoredVariant[]> {
  return await deps.db
    .selectFrom('variants')
    .select(['width', 'object_key', 'sha256'])
    .where('file_id', '=', fileId)
    .where('format', '=', format)
    .orderBy('width')
    .execute();
}

/** Undefined when the object is not there: the worker has just replaced it by one of other settings. */
async function readVariant(deps: LoadDeps, variant: StoredVariant, signal: AbortSignal) {
  try {
    const { stream } = await deps.store.get(variant.object_key, { signal });
    return { bytes: await buffer(stream), sha256: variant.sha256 };
  } catch (error) {
    if (error instanceof AppError && error.code === 'OBJECT_NOT_FOUND') return undefined;
    throw error;
  }
}

async function render(deps: LoadDeps, wanted: ThumbnailWanted, variants: readonly StoredVariant[]) {
  const { file } = wanted;
  assertNotFailed(file);
  const original =
    file.width !== null && file.height !== null ? { width: file.width, height: file.height } : undefined;
  if (original !== undefined) assertNotTooLarge(original, deps.maxInputPixels);
  const request: RenderRequest = {
    cause: 'request',
    widths: wanted.width === undefined ? 'full' : [wanted.width],
    formats: [wanted.format],
    ...(original && { original }),
  };
  const smaller = original && smallestSufficient(wanted, variants);
  const renderFrom = (key: string) => renderOne(deps, request, key, wanted.signal);
  return await deps.admission.run(
    wanted.clientIp,
    async () => {
      try {
        return await renderFrom(smaller?.object_key ?? file.object_key);
      } catch (error) {
        const replaced = smaller && error instanceof AppError && error.code === 'OBJECT_NOT_FOUND';
        if (!replaced) throw error;
        return await renderFrom(file.object_key);
      }
    },
    wanted.signal,
  );
}

/**
 * The smallest stored variant with at least twice the pixels across: as good a source as the original, and several
 * times faster. Not for formats with animations, of which a variant may hold the first frame only.
 */
function smallestSufficient(
  wanted: ThumbnailWanted,
  variants: readonly StoredVariant[],
): StoredVariant | undefined {
  const { stored, width } = wanted;
  if (width === undefined || stored === 'gif' || stored === 'webp') return undefined;
  return variants.find((variant) => variant.width >= 2 * width);
}

async function renderOne(deps: LoadDeps, request: RenderRequest, key: string, signal: AbortSignal) {
  let bytes: Uint8Array | undefined;
  await deps.pool.render({
    request,
    // A reader who leaves while the source is read ends that; a render that has begun is finished and kept.
    openSource: () => deps.store.get(key, { signal }),
    onVariant: (variant) => {
      bytes = variant.bytes;
    },
  });
  if (bytes === undefined) throw new Error('the render gave no variant');
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}
