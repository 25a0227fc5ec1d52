import type { Metadata } from 'sharp';
import { AppError } from '../errors/app-error.ts';

/**
 * Pixels alone do not say what a picture costs: 2 KB of AVIF took 1.8 GB for 100 megapixels, a PNG of the same size
 * 0.1 GB. So the memory that decoding takes is bounded too, in proportion to the pixels that are allowed.
 */
const BYTES_PER_ALLOWED_PIXEL = 3;

/** libvips passes the picture on in strips; about so many lines of it are in memory at a time. */
const WINDOW_LINES = 1_100;

/** The most bytes that a picture and its decoding may take together. */
export function mostDecoderBytes(maxInputPixels: number): number {
  return maxInputPixels * BYTES_PER_ALLOWED_PIXEL;
}

/** @throws AppError PICTURE_TOO_LARGE when its file, of that many bytes, takes all the memory already. */
export function assertFileFitsMemory(fileBytes: number, maxInputPixels: number): void {
  if (fileBytes > mostDecoderBytes(maxInputPixels)) throw needsTooMuch(fileBytes, maxInputPixels);
}

/** @throws AppError PICTURE_TOO_LARGE when decoding would take more memory than there is for one picture. */
export function assertFitsMemory(read: Metadata, bytes: Uint8Array, maxInputPixels: number): void {
  const needed = bytes.length + decoderBytes(read, bytes);
  if (needed > mostDecoderBytes(maxInputPixels)) throw needsTooMuch(needed, maxInputPixels);
}

/** What the decoder holds of the picture, measured with sharp 0.35.5; the child that decodes takes 85 MB by itself. */
export function decoderBytes(read: Metadata, bytes: Uint8Array): number {
  const pixels = read.width * read.height;
  const window = read.width * Math.min(read.height, WINDOW_LINES) * pixelBytes(read);
  return Math.ceil(Math.max(window, pixels * wholePixelBytes(read, bytes)));
}

/** Bytes of a pixel on its way: colours are computed with floats when there is alpha. */
function pixelBytes({ channels, depth, hasAlpha }: Metadata): number {
  if (depth === 'float' || depth === 'double') return channels * 8;
  if (hasAlpha) return 4 * 4;
  return Math.max(channels, 3) * (depth === 'uchar' ? 1 : 2);
}

/** Bytes for each pixel that a decoder keeps until the last one is decoded; 0 when it goes line by line. */
function wholePixelBytes(read: Metadata, bytes: Uint8Array): number {
  switch (read.format) {
    case 'heif':
      return (read.bitsPerSample ?? 8) > 8 ? 24.5 : 18;
    case 'gif':
      return 5;
    case 'webp':
      return webpPixelBytes(read, bytes);
    case 'png':
      // Interlaced.
      return read.isProgressive ? read.channels * (read.depth === 'uchar' ? 1 : 2) + 1 : 0;
    case 'jpeg':
      // Several scans: all coefficients, of 2 bytes each.
      return read.isProgressive ? 2 * samplesPerPixel(read) : 0;
    default:
      return 0;
  }
}

function webpPixelBytes(read: Metadata, bytes: Uint8Array): number {
  // A canvas, the frame on it, and the pixels of a lossless frame.
  if ((read.pages ?? 1) > 1) return 13;
  const isLossless = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    'VP8L',
    0,
    'latin1',
  );
  if (isLossless) return 5;
  return read.hasAlpha ? 6.5 : 1.5;
}

function samplesPerPixel({ channels, chromaSubsampling }: Metadata): number {
  if (channels !== 3) return channels;
  return chromaSubsampling === '4:2:0' ? 1.5 : chromaSubsampling === '4:2:2' ? 2 : 3;
}

function needsTooMuch(neededBytes: number, maxInputPixels: number): AppError {
  return new AppError('PICTURE_TOO_LARGE', 'The picture takes too much memory to decode.', {
    details: { needed_bytes: neededBytes, max_bytes: mostDecoderBytes(maxInputPixels) },
  });
}
