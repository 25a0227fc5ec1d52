import sharp from 'sharp';
import { AppError } from '../errors/app-error.ts';
import { assertBoundedContainer } from './container-limits.ts';
import { assertFitsMemory } from './decoder-memory.ts';
import { assertNotTooLarge } from './input-limit.ts';
import { PICTURE_FORMATS, type PictureFormat } from './picture-format.ts';
import type { Size } from './thumbnail-size.ts';

export interface PictureHeader {
  readonly format: PictureFormat;
  /** The size of one frame after EXIF orientation. */
  readonly upright: Size;
  /** Frames of an animation; 1 for everything else, also for TIFFs of several pages. */
  readonly frames: number;
  /** ms each frame is shown, and how often the animation repeats (0 = for ever). */
  readonly delay: readonly number[];
  readonly loop: number;
}

/**
 * Reads what the header says, and refuses what must not be decoded before a pixel of it is.
 * @throws AppError PICTURE_UNREADABLE, PICTURE_TOO_LARGE, PICTURE_FORMAT_NOT_RENDERED
 */
export async function readHeader(bytes: Uint8Array, maxInputPixels: number): Promise<PictureHeader> {
  assertBoundedContainer(bytes);
  let read: Awaited<ReturnType<ReturnType<typeof sharp>['metadata']>>;
  try {
    // The limit is checked below, where the refusal can say what is too large.
    read = await sharp(bytes, { limitInputPixels: false, failOn: 'error' }).metadata();
  } catch (cause) {
    throw new AppError('PICTURE_UNREADABLE', 'The picture cannot be decoded.', { cause });
  }
  const format = PICTURE_FORMATS.find((known) => known === (read.format === 'heif' ? 'avif' : read.format));
  if (format === undefined || (read.format === 'heif' && read.compression !== 'av1')) {
    throw new AppError('PICTURE_FORMAT_NOT_RENDERED', 'Thumbnails of this picture format are not made.');
  }
  const upright = { width: read.autoOrient.width, height: read.autoOrient.height };
  assertNotTooLarge(upright, maxInputPixels);
  assertFitsMemory(read, bytes, maxInputPixels);
  const animated = (format === 'gif' || format === 'webp') && (read.pages ?? 1) > 1;
  return {
    format,
    upright,
    frames: animated ? (read.pages ?? 1) : 1,
    delay: read.delay ?? [],
    loop: read.loop ?? 0,
  };
}
