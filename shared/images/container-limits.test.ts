import { describe, expect, test } from 'vitest';
import { assertBoundedContainer } from './container-limits.ts';

function isTaken(bytes: Buffer): boolean {
  try {
    assertBoundedContainer(bytes);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'PICTURE_TOO_LARGE' });
    return false;
  }
}

const times = (bytes: Buffer, count: number) => Buffer.alloc(bytes.length * count, bytes);
const u32 = (value: number) => Buffer.from(new Uint32Array([value]).buffer);

describe('10,000 frames are the most', () => {
  test('of a GIF, with colours and extensions among them, and whatever lies between', () => {
    const head = Buffer.from([...Buffer.from('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 9, 9, 9, 9, 9, 9]);
    const frame = Buffer.from([
      0x21, 0xf9, 4, 0, 5, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0,
    ]);
    const coloured = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 9, 9, 9, 9, 9, 9, 2, 2, 0x44, 1, 0]);
    const end = Buffer.from([0x3b]);
    expect(isTaken(Buffer.concat([head, times(frame, 9_999), coloured, end]))).toBe(true);
    expect(isTaken(Buffer.concat([head, times(frame, 10_001), end]))).toBe(false);
    expect(isTaken(Buffer.concat([head, times(coloured, 10_001)]))).toBe(false);
    expect(isTaken(Buffer.concat([head, Buffer.from([0, 0, 7]), times(frame, 10_001)]))).toBe(false);
    // What comes after the end is not looked at by decoders either.
    expect(isTaken(Buffer.concat([head, frame, end, times(frame, 10_001)]))).toBe(true);
  });

  test('of a WebP', () => {
    const chunk = (name: string, bytes: Buffer) =>
      Buffer.concat([Buffer.from(name), u32(bytes.length), bytes]);
    const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
    const odd = Buffer.concat([chunk('ICCP', Buffer.from('abc')), Buffer.alloc(1)]);
    const frames = (count: number) =>
      Buffer.concat([head, odd, times(chunk('ANMF', Buffer.alloc(16)), count)]);
    expect(isTaken(frames(10_000))).toBe(true);
    expect(isTaken(frames(10_001))).toBe(false);
  });

  test.each([
    ['little-endian', 'II*\0', false, false],
    ['big-endian', 'MM\0*', true, false],
    ['little-endian big', 'II+\0\x08\0\0\0', false, true],
    ['big-endian big', 'MM\0+\0\x08\0\0', true, true],
  ])('of a %s TIFF, also of one whose pages go round in a circle', (_, start, bigEndian, big) => {
    const number = (value: number, length: number) => {
      const bytes = Buffer.alloc(length);
      if (bigEndian) bytes.writeUIntBE(value, length - Math.min(length, 6), Math.min(length, 6));
      else bytes.writeUIntLE(value, 0, Math.min(length, 6));
      return bytes;
    };
    const [countLength, offsetLength, entryLength] = big ? [8, 8, 20] : [2, 4, 12];
    const first = start.length + offsetLength;
    const pageLength = countLength + entryLength + offsetLength;
    const pages = (count: number, last = 0) =>
      Buffer.concat([
        Buffer.from(start, 'latin1'),
        number(first, offsetLength),
        ...Array.from({ length: count }, (_page, n) =>
          Buffer.concat([
            number(1, countLength),
            Buffer.alloc(entryLength),
            number(n + 1 === count ? last : first + pageLength * (n + 1), offsetLength),
          ]),
        ),
      ]);
    expect(isTaken(pages(10_000))).toBe(true);
    expect(isTaken(pages(10_001))).toBe(false);
    expect(isTaken(pages(2, first))).toBe(false);
  });
});

test('a PNG has 2 MiB of compressed text at most', () => {
  const chunk = (name: string, length: number) => {
    const bytes = Buffer.alloc(12 + length);
    bytes.writeUInt32BE(length);
    bytes.write(name, 4);
    return bytes;
  };
  const head = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const png = (...chunks: Buffer[]) => Buffer.concat([head, ...chunks]);
  const half = 1024 * 1024;
  expect(isTaken(png(chunk('zTXt', half), chunk('iTXt', half), chunk('IDAT', 9 * half)))).toBe(true);
  expect(isTaken(png(chunk('IDAT', half), chunk('zTXt', half), chunk('iTXt', half + 1)))).toBe(false);
});

test('what is cut off or of another kind is left to the decoder', () => {
  for (const bytes of [
    '',
    'GIF8',
    'GIF89a',
    'RIFF',
    'RIFF\0\0\0\0WEBPANMF',
    'II*\0',
    '\x89PNG\r\n\x1a\n\0\0',
    '\xff\xd8\xff',
  ])
    expect(isTaken(Buffer.from(bytes, 'latin1')), bytes).toBe(true);
});
