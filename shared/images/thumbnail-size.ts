import { AppError } from '../errors/app-error.ts';
import type { PictureFormat } from './picture-format.ts';

export interface Size {
  /** px */
  readonly width: number;
  /** px */
  readonly height: number;
}

/** The most pixels a thumbnail may have. */
const MAX_THUMBNAIL_PIXELS = 50_000_000;
/** The most pixels that all frames of an animated thumbnail may have together; above it the first frame is shown. */
export const MAX_ANIMATED_PIXELS = 4_000_000;

/** The longest side in px that a format, or its encoder here, can hold. */
const LONGEST_SIDE: Readonly<Record<PictureFormat, number>> = {
  jpeg: 65_535,
  png: 65_535,
  webp: 16_383,
  gif: 65_535,
  avif: 16_384,
  tiff: 65_535,
};

/** The size of a thumbnail of exactly that width, in the proportions of the upright original. */
export function thumbnailSize(upright: Size, width: number): Size {
  return { width, height: Math.max(1, Math.round((width * upright.height) / upright.width)) };
}

/**
 * Fewer pixels where the encoder takes memory out of proportion: AVIF 33 bytes a pixel, GIF 13. With 50 megapixels of
 * AVIF it took 1.6 GB, and longer than any reader is given.
 */
const MAX_PIXELS_ON_REQUEST: Partial<Record<PictureFormat, number>> = { avif: 17_000_000, gif: 24_000_000 };
/** Of what a worker makes ahead of any reader, within 400 MB. */
const MAX_PIXELS_AHEAD: Partial<Record<PictureFormat, number>> = { avif: 9_000_000, gif: 24_000_000 };

/** Whether a worker makes a thumbnail of that size. */
export function fitsFormat(size: Size, format: PictureFormat): boolean {
  return fits(size, format, MAX_PIXELS_AHEAD[format] ?? MAX_THUMBNAIL_PIXELS);
}

function fits({ width, height }: Size, format: PictureFormat, maxPixels: number): boolean {
  const side = LONGEST_SIDE[format];
  return width * height <= maxPixels && width <= side && height <= side;
}

/** @throws AppError THUMBNAIL_TOO_LARGE when the format, or its encoder, cannot make a picture of that size for a reader. */
export function assertFitsFormat(size: Size, format: PictureFormat): void {
  const maxPixels = MAX_PIXELS_ON_REQUEST[format] ?? MAX_THUMBNAIL_PIXELS;
  if (fits(size, format, maxPixels)) return;
  throw new AppError(
    'THUMBNAIL_TOO_LARGE',
    `A ${format} thumbnail of ${size.width} × ${size.height} pixels is too large.`,
    {
      details: { ...size, max_pixels: maxPixels, max_side: LONGEST_SIDE[format] },
    },
  );
}

/** Whether a thumbnail of that size keeps all frames. */
export function staysAnimated(frames: number, size: Size): boolean {
  return frames > 1 && frames * size.width * size.height <= MAX_ANIMATED_PIXELS;
}
