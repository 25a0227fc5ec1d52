import type { PictureFormat } from './picture-format.ts';
import type { PictureHeader } from './read-header.ts';
import type { RenderRequest } from './render-request.ts';
import { assertFitsFormat, fitsFormat, type Size, staysAnimated, thumbnailSize } from './thumbnail-size.ts';

export interface PlannedVariant {
  readonly size: Size;
  readonly format: PictureFormat;
  readonly animated: boolean;
}

/**
 * The variants to make of a picture, largest first.
 * @throws AppError THUMBNAIL_TOO_LARGE, only for a reader who waits.
 */
export function planVariants(
  request: RenderRequest,
  header: PictureHeader,
  maxInputPixels: number,
): PlannedVariant[] {
  const original = request.original ?? header.upright;
  const own = header.upright.width;
  const widths = request.widths === 'full' ? [original.width] : request.widths;
  const frames = canDecodeAllFrames(header, maxInputPixels) ? header.frames : 1;
  const planned: PlannedVariant[] = [];
  for (const width of [...new Set(widths)].sort((a, b) => b - a)) {
    if (request.cause === 'ahead' && width > own) continue;
    const size = request.widths === 'full' ? original : thumbnailSize(original, width);
    for (const format of new Set(request.formats)) {
      if (request.cause === 'request') assertFitsFormat(size, format);
      else if (!fitsFormat(size, format)) continue;
      const animated = (format === 'gif' || format === 'webp') && staysAnimated(frames, size);
      planned.push({ size, format, animated });
    }
  }
  return planned;
}

/** Reading an animation decodes all its frames, so together they count as one picture. */
function canDecodeAllFrames(header: PictureHeader, maxInputPixels: number): boolean {
  return header.frames * header.upright.width * header.upright.height <= maxInputPixels;
}
