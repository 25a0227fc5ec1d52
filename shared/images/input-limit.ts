import { AppError } from '../errors/app-error.ts';
import type { Size } from './thumbnail-size.ts';

/** @throws AppError PICTURE_TOO_LARGE when the picture has more pixels than are decoded here. */
export function assertNotTooLarge(size: Size, maxInputPixels: number): void {
  if (size.width * size.height <= maxInputPixels) return;
  throw new AppError(
    'PICTURE_TOO_LARGE',
    `The picture has ${size.width} × ${size.height} pixels, too many for thumbnails.`,
    { details: { width: size.width, height: size.height, max_pixels: maxInputPixels } },
  );
}
