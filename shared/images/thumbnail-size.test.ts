import { expect, test } from 'vitest';
import { AppError } from '../errors/app-error.ts';
import { assertFitsFormat, fitsFormat, staysAnimated, thumbnailSize } from './thumbnail-size.ts';

test('a thumbnail has the width asked for and the height of the same proportions, rounded', () => {
  expect(thumbnailSize({ width: 2725, height: 2225 }, 1024)).toEqual({ width: 1024, height: 836 });
  expect(thumbnailSize({ width: 6000, height: 4000 }, 512)).toEqual({ width: 512, height: 341 });
  expect(thumbnailSize({ width: 100, height: 50 }, 4096)).toEqual({ width: 4096, height: 2048 });
});

test('a thumbnail is at least one pixel high', () => {
  expect(thumbnailSize({ width: 10_000, height: 3 }, 64)).toEqual({ width: 64, height: 1 });
});

test('50 megapixels are the most a thumbnail may have', () => {
  expect(fitsFormat({ width: 10_000, height: 5_000 }, 'jpeg')).toBe(true);
  expect(fitsFormat({ width: 10_000, height: 5_001 }, 'jpeg')).toBe(false);
});

test('an AVIF and a GIF may have fewer, because their encoders take more memory; ahead still fewer', () => {
  const refused = expect.objectContaining({ code: 'THUMBNAIL_TOO_LARGE' });
  expect(() => assertFitsFormat({ width: 4096, height: 4150 }, 'avif')).not.toThrow();
  expect(() => assertFitsFormat({ width: 4096, height: 4151 }, 'avif')).toThrow(refused);
  expect(() => assertFitsFormat({ width: 4096, height: 6000 }, 'gif')).toThrow(refused);
  expect(fitsFormat({ width: 3000, height: 3000 }, 'avif')).toBe(true);
  expect(fitsFormat({ width: 3000, height: 3001 }, 'avif')).toBe(false);
});

test('a WebP has no side above 16,383 pixels, a JPEG may', () => {
  expect(fitsFormat({ width: 64, height: 16_383 }, 'webp')).toBe(true);
  expect(fitsFormat({ width: 64, height: 16_384 }, 'webp')).toBe(false);
  expect(fitsFormat({ width: 64, height: 16_384 }, 'jpeg')).toBe(true);
});

test('what does not fit is refused by its code', () => {
  const refuse = () => assertFitsFormat({ width: 64, height: 20_000 }, 'webp');
  expect(refuse).toThrow(AppError);
  expect(refuse).toThrow(expect.objectContaining({ code: 'THUMBNAIL_TOO_LARGE' }));
});

test('an animation stays one up to 4 megapixels over all frames', () => {
  expect(staysAnimated(10, { width: 1000, height: 400 })).toBe(true);
  expect(staysAnimated(10, { width: 1000, height: 401 })).toBe(false);
  expect(staysAnimated(1, { width: 10, height: 10 })).toBe(false);
});
