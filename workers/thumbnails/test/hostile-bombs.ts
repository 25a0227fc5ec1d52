import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { makeJpegBomb, makePicture } from '../../../scripts/testing/pictures.ts';

/**
 * Small files that ask for much memory or time. What libvips took for them before they were refused is in
 * `shared/images/decoder-memory.test.ts`.
 */
export interface Bomb {
  readonly what: string;
  readonly contentType: string;
  readonly make: () => Promise<Buffer> | Buffer;
  /** What becomes of it: the code on its row, or undefined when it is rendered. */
  readonly refused: 'PICTURE_TOO_LARGE' | 'PICTURE_UNREADABLE' | undefined;
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const times = (bytes: Buffer, count: number) => Buffer.alloc(bytes.length * count, bytes);
const u16 = (value: number) => [value & 0xff, value >> 8];
const u24 = (value: number) => Buffer.from([value & 0xff, (value >> 8) & 0xff, value >> 16]);

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function pngChunk(name: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(name, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

/** A PNG of zeros. Colour 2 is RGB, 6 is RGBA; of an interlaced one there is the header only. */
function png(
  width: number,
  height: number,
  { depth = 8, colour = 2, interlaced = false, text = 0 } = {},
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, 0, 0, interlaced ? 1 : 0], 8);
  const line = 1 + (width * (colour === 6 ? 4 : 3) * depth) / 8;
  const pixels = interlaced ? Buffer.alloc(10) : Buffer.alloc(line * height);
  const bomb = text > 0 ? deflateSync(Buffer.alloc(100_000_000), { level: 9 }) : Buffer.alloc(0);
  return Buffer.concat([
    latin1('\x89PNG\r\n\x1a\n'),
    pngChunk('IHDR', header),
    ...Array.from({ length: text }, (_, n) => pngChunk('zTXt', Buffer.concat([latin1(`k${n}\0\0`), bomb]))),
    pngChunk('IDAT', deflateSync(pixels)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A GIF whose frames announce so many pixels and have next to none. */
function gif(width: number, height: number, frames: number): Buffer {
  const side = [...u16(width), ...u16(height)];
  const head = Buffer.from([...latin1('GIF89a'), ...side, 0x80, 0, 0, 255, 0, 0, 0, 255, 0]);
  const frame = Buffer.from([0x21, 0xf9, 4, 4, 5, 0, 0, 0, 0x2c, 0, 0, 0, 0, ...side, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([head, times(frame, frames), Buffer.from([0x3b])]);
}

/** 38 bytes: lossless, of one colour. */
function losslessWebp(width: number, height: number): Buffer {
  const bits = (width - 1) | ((height - 1) << 14) | (1 << 28);
  const data = Buffer.concat([
    Buffer.from([0x2f]),
    u32(bits >>> 0),
    Buffer.from([0xfd, 0x0f, 0, 0, 0, 0xfd, 0xff, 0xff, 0x0f]),
  ]);
  const padded = Buffer.concat([data, Buffer.alloc(data.length % 2)]);
  const body = Buffer.concat([latin1('WEBPVP8L'), u32(data.length), padded]);
  return Buffer.concat([latin1('RIFF'), u32(body.length), body]);
}

async function animatedWebp(side: number, frames: number): Promise<Buffer> {
  const still = await sharp({ create: { width: side, height: side, channels: 4, background: '#f00' } })
    .webp({ lossless: true })
    .toBuffer();
  const chunk = (name: string, data: Buffer) =>
    Buffer.concat([latin1(name), u32(data.length), data, Buffer.alloc(data.length % 2)]);
  const place = Buffer.concat([u24(0), u24(0), u24(side - 1), u24(side - 1), u24(100), Buffer.from([0])]);
  const frame = chunk('ANMF', Buffer.concat([place, still.subarray(12)]));
  const canvas = Buffer.concat([Buffer.from([0x12, 0, 0, 0]), u24(side - 1), u24(side - 1)]);
  const body = Buffer.concat([
    latin1('WEBP'),
    chunk('VP8X', canvas),
    chunk('ANIM', Buffer.alloc(6)),
    times(frame, frames),
  ]);
  return Buffer.concat([latin1('RIFF'), u32(body.length), body]);
}

/** A small picture whose header announces another size. */
async function announced(
  format: 'avif' | 'tiff' | 'progressive JPEG',
  width: number,
  height: number,
): Promise<Buffer> {
  if (format === 'avif') {
    const bytes = await makePicture({ width: 64, height: 64, format });
    const at = bytes.indexOf('ispe', 0, 'latin1') + 8;
    bytes.writeUInt32BE(width, at);
    bytes.writeUInt32BE(height, at + 4);
    return bytes;
  }
  if (format === 'tiff') return tiff(width, height, 1);
  const bytes = await makePicture({ width: 64, height: 64, format: 'jpeg', progressive: true });
  const at = bytes.indexOf(Buffer.from([0xff, 0xc2]));
  bytes.writeUInt16BE(height, at + 5);
  bytes.writeUInt16BE(width, at + 7);
  return bytes;
}

/** A grey TIFF of so many pages, each with one byte of pixels. */
function tiff(width: number, height: number, pages: number): Buffer {
  const entries = [
    [256, 4, width],
    [257, 4, height],
    [258, 3, 8],
    [259, 3, 1],
    [262, 3, 1],
    [273, 4, 8],
    [277, 3, 1],
    [278, 4, height],
    [279, 4, 1],
  ];
  const page = Buffer.alloc(2 + 12 * entries.length + 4);
  page.writeUInt16LE(entries.length);
  for (const [index, [tag = 0, type = 0, value = 0]] of entries.entries()) {
    const at = 2 + 12 * index;
    page.writeUInt16LE(tag, at);
    page.writeUInt16LE(type, at + 2);
    page.writeUInt32LE(1, at + 4);
    page.writeUInt32LE(value, at + 8);
  }
  const bytes = Buffer.concat([latin1('II*\0'), u32(16), Buffer.alloc(8), times(page, pages)]);
  for (let n = 0; n < pages; n += 1) {
    const next = 16 + page.length * (n + 1);
    bytes.writeUInt32LE(n + 1 === pages ? 0 : next, next - 4);
  }
  return bytes;
}

const tooLarge = 'PICTURE_TOO_LARGE';

export const BOMBS: readonly Bomb[] = [
  {
    what: 'a JPEG of 280 megapixels',
    contentType: 'image/jpeg',
    make: () => makeJpegBomb(20_000, 14_000),
    refused: tooLarge,
  },
  {
    what: 'a progressive JPEG of 81 megapixels',
    contentType: 'image/jpeg',
    make: () => announced('progressive JPEG', 9_000, 9_000),
    refused: undefined,
  },
  {
    what: 'a progressive JPEG of 110 megapixels',
    contentType: 'image/jpeg',
    make: () => announced('progressive JPEG', 11_000, 10_000),
    refused: tooLarge,
  },
  {
    what: 'a PNG of 4,295 megapixels',
    contentType: 'image/png',
    make: () => png(65_536, 65_536, { interlaced: true }),
    refused: tooLarge,
  },
  {
    what: 'an interlaced PNG of 100 megapixels in 16 bits',
    contentType: 'image/png',
    make: () => png(10_000, 10_000, { depth: 16, colour: 6, interlaced: true }),
    refused: tooLarge,
  },
  {
    what: 'a PNG of a million pixels across',
    contentType: 'image/png',
    make: () => png(1_000_000, 20, { depth: 16, colour: 6 }),
    refused: tooLarge,
  },
  {
    what: 'a PNG of 100 megapixels',
    contentType: 'image/png',
    make: () => png(10_000, 10_000),
    refused: undefined,
  },
  {
    what: 'a PNG with 4 GB of text',
    contentType: 'image/png',
    make: () => png(500, 500, { text: 40 }),
    refused: tooLarge,
  },
  {
    what: 'a lossless WebP of 100 megapixels',
    contentType: 'image/webp',
    make: () => losslessWebp(10_000, 10_000),
    refused: tooLarge,
  },
  {
    what: 'a WebP of 100,000 frames',
    contentType: 'image/webp',
    make: () => animatedWebp(16, 100_000),
    refused: tooLarge,
  },
  {
    what: 'a WebP of 100 frames, each a megapixel',
    contentType: 'image/webp',
    make: () => animatedWebp(1_000, 100),
    refused: undefined,
  },
  {
    what: 'a GIF of 100 megapixels',
    contentType: 'image/gif',
    make: () => gif(10_000, 10_000, 1),
    refused: tooLarge,
  },
  {
    what: 'a GIF of 100 frames, each a megapixel',
    contentType: 'image/gif',
    make: () => gif(1_000, 1_000, 100),
    refused: undefined,
  },
  {
    what: 'a GIF of a million frames',
    contentType: 'image/gif',
    make: () => gif(1, 1, 1_000_000),
    refused: tooLarge,
  },
  {
    what: 'an AVIF of 100 megapixels',
    contentType: 'image/avif',
    make: () => announced('avif', 10_000, 10_000),
    refused: tooLarge,
  },
  {
    what: 'an AVIF of 16 megapixels',
    contentType: 'image/avif',
    make: () =>
      sharp({ create: { width: 4_000, height: 4_000, channels: 3, background: '#357' } })
        .avif({ effort: 0 })
        .toBuffer(),
    refused: undefined,
  },
  {
    what: 'a TIFF of 1,600 megapixels',
    contentType: 'image/tiff',
    make: () => announced('tiff', 40_000, 40_000),
    refused: tooLarge,
  },
  {
    what: 'a TIFF of 100,000 pages',
    contentType: 'image/tiff',
    make: () => tiff(1, 1, 100_000),
    refused: tooLarge,
  },
];
