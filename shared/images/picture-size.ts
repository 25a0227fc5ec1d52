import { imageSize } from 'image-size';
import { readOrientation } from './exif-orientation.ts';

/** Width and height in pixels as a viewer shows the picture: EXIF orientation applied. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** So many bytes of the beginning are looked at: beyond them are colour profiles and embedded previews that do not end. */
export const SIZE_HEAD_BYTES = 256 * 1024;

/** The size's place in the other formats is near the beginning; the reader takes time squared in their number of boxes. */
const SHORT_HEAD_BYTES = 8 * 1024;

/** Sides above are not those of a picture, and would not fit their column. */
const MAX_SIDE = 2 ** 31 - 1;

/**
 * Reads the size of the upright picture from its first bytes, without decoding anything. Undefined when it is not
 * certain from them; then the worker, which decodes the picture, fills it in.
 */
export function pictureSize(contentType: string, head: Buffer): PictureSize | undefined {
  const bytes = head.subarray(0, contentType === 'image/jpeg' ? SIZE_HEAD_BYTES : SHORT_HEAD_BYTES);
  try {
    const { width, height, orientation = 1 } = imageSize(bytes);
    const turned = isTurned(contentType, bytes, orientation);
    if (turned === undefined || !isSide(width) || !isSide(height)) return undefined;
    return turned ? { width: height, height: width } : { width, height };
  } catch {
    // The library throws whatever it stumbles over: a header that is cut off or broken has no size.
    return undefined;
  }
}

function isSide(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0 && value <= MAX_SIDE;
}

/** Whether width and height change places. Undefined: it cannot be told from the head. */
function isTurned(contentType: string, bytes: Buffer, orientation: number): boolean | undefined {
  switch (contentType) {
    case 'image/jpeg':
      return orientation >= 5;
    case 'image/tiff':
      return (readOrientation(bytes) ?? 1) >= 5;
    case 'image/png':
      // EXIF may come anywhere, mostly before the pixels.
      return (readOrientation(chunkAfter(bytes, 'eXIf')) ?? 1) >= 5;
    case 'image/webp':
      // EXIF comes last; the header says whether there is any.
      return hasWebpExif(bytes) ? undefined : false;
    case 'image/avif':
    case 'image/heic':
      return isHeifTurned(bytes);
    default:
      return false;
  }
}

function chunkAfter(bytes: Buffer, name: string): Buffer {
  const at = bytes.indexOf(name, 0, 'latin1');
  return at < 0 ? Buffer.alloc(0) : bytes.subarray(at + name.length);
}

function hasWebpExif(bytes: Buffer): boolean {
  return bytes.toString('latin1', 12, 16) === 'VP8X' && ((bytes[20] ?? 0) & 0b1000) !== 0;
}

/** An `irot` property turns by multiples of 90°; more than one may belong to different items. `clap` cuts off. */
function isHeifTurned(bytes: Buffer): boolean | undefined {
  if (bytes.includes('clap', 0, 'latin1')) return undefined;
  const rest = chunkAfter(bytes, 'irot');
  if (rest.includes('irot', 0, 'latin1')) return undefined;
  return ((rest[0] ?? 0) & 1) === 1;
}
