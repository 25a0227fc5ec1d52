import type { Metadata } from 'sharp';
import { expect, test } from 'vitest';
import { assertFileFitsMemory, assertFitsMemory, decoderBytes } from './decoder-memory.ts';

const LIMIT = 100_000_000;
const file = Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1');
const lossless = Buffer.from('RIFF\0\0\0\0WEBPVP8L', 'latin1');

function picture(changes: Partial<Metadata>): Metadata {
  const common = {
    width: 10_000,
    height: 10_000,
    channels: 3,
    depth: 'uchar',
    space: 'srgb',
    hasAlpha: false,
  };
  // Only the fields that are looked at.
  return { ...common, isProgressive: false, ...changes } as Metadata;
}

function isTaken(changes: Partial<Metadata>, bytes: Buffer = file): boolean {
  try {
    assertFitsMemory(picture(changes), bytes, LIMIT);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'PICTURE_TOO_LARGE', details: { max_bytes: 300_000_000 } });
    return false;
  }
}

// Beside each what a render child took for it, in MB, before there was this check.
test.each<[string, Partial<Metadata>, Buffer, boolean]>([
  ['a JPEG of one scan (101)', { format: 'jpeg' }, file, true],
  ['a JPEG of several scans in 4:4:4 (666)', { format: 'jpeg', isProgressive: true }, file, false],
  [
    'a JPEG of several scans in CMYK (861)',
    { format: 'jpeg', isProgressive: true, channels: 4 },
    file,
    false,
  ],
  ['a PNG (141)', { format: 'png' }, file, true],
  [
    'a PNG of 16 bits with alpha (253)',
    { format: 'png', channels: 4, depth: 'ushort', hasAlpha: true },
    file,
    true,
  ],
  [
    'an interlaced PNG (975)',
    { format: 'png', channels: 4, depth: 'ushort', isProgressive: true },
    file,
    false,
  ],
  [
    'a PNG of a million pixels across (2881)',
    { format: 'png', width: 1_000_000, height: 100, channels: 4, hasAlpha: true },
    file,
    false,
  ],
  ['a lossy WebP (163)', { format: 'webp' }, file, true],
  ['a lossless WebP (579)', { format: 'webp' }, lossless, false],
  ['an animated WebP', { format: 'webp', pages: 2 }, file, false],
  ['a GIF (549)', { format: 'gif' }, file, false],
  ['an AVIF (1835)', { format: 'heif' }, file, false],
  ['an AVIF of 16 megapixels (375)', { format: 'heif', width: 4_000, height: 4_000 }, file, true],
  [
    'an AVIF of 16 megapixels in 10 bits (477)',
    { format: 'heif', width: 4_000, height: 4_000, bitsPerSample: 10 },
    file,
    false,
  ],
  [
    'an AVIF of 12 megapixels in 10 bits',
    { format: 'heif', width: 4_032, height: 3_024, bitsPerSample: 10 },
    file,
    true,
  ],
  ['a TIFF (147)', { format: 'tiff' }, file, true],
  ['a TIFF of floats (400)', { format: 'tiff', channels: 4, depth: 'float' }, file, false],
])('of 100 megapixels, or as many as it says, %s is decoded or not', (_, changes, bytes, taken) => {
  expect(isTaken(changes, bytes)).toBe(taken);
});

test('a progressive JPEG is as large as its colours are sampled', () => {
  const jpeg = { format: 'jpeg', isProgressive: true } as const;
  const bytes = (chromaSubsampling: string) => decoderBytes(picture({ ...jpeg, chromaSubsampling }), file);
  expect(['4:2:0', '4:2:2', '4:4:4'].map(bytes)).toEqual([300_000_000, 400_000_000, 600_000_000]);
});

test('the file counts too, because a child holds all of it', () => {
  expect(isTaken({ format: 'heif', width: 4_000, height: 4_000 }, Buffer.alloc(20_000_000))).toBe(false);
  assertFileFitsMemory(300_000_000, LIMIT);
  expect(() => assertFileFitsMemory(300_000_001, LIMIT)).toThrow(
    expect.objectContaining({ code: 'PICTURE_TOO_LARGE' }),
  );
});
