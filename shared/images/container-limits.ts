import { AppError } from '../errors/app-error.ts';

/** Frames of an animation, or pages of a TIFF. */
const MAX_FRAMES = 10_000;

/** Compressed text in a PNG, which libpng inflates whatever it is for; each byte may become a thousand. */
const MAX_PNG_TEXT_BYTES = 2 * 1024 * 1024;

/**
 * Refuses what costs libvips more than its pixels do, before libvips sees it: it looks at every frame when it reads
 * the header, in WebP and TIFF in time that grows with the square of their number (5 MB of WebP: half a minute).
 * @throws AppError PICTURE_TOO_LARGE
 */
export function assertBoundedContainer(picture: Uint8Array): void {
  const bytes = Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength);
  const start = bytes.toString('latin1', 0, 16);
  if (start.startsWith('GIF8')) atMost(framesOfGif(bytes));
  else if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) atMost(framesOfWebp(bytes));
  else if (/^(?:II[*+]|MM\0[*+])/.test(start)) atMost(pagesOfTiff(bytes));
  else if (start.startsWith('\x89PNG')) atMostText(textBytesOfPng(bytes));
}

function atMost(frames: Iterable<unknown>): void {
  let count = 0;
  for (const _ of frames) {
    count += 1;
    if (count > MAX_FRAMES)
      throw new AppError('PICTURE_TOO_LARGE', 'The picture has too many frames for thumbnails.', {
        details: { max_frames: MAX_FRAMES },
      });
  }
}

function atMostText(length: number): void {
  if (length > MAX_PNG_TEXT_BYTES)
    throw new AppError('PICTURE_TOO_LARGE', 'The picture has too much text in it for thumbnails.', {
      details: { max_text_bytes: MAX_PNG_TEXT_BYTES },
    });
}

/** Offsets of the image descriptors. */
function* framesOfGif(bytes: Buffer): Iterable<number> {
  const colours = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  let at = 13 + colours(bytes[10] ?? 0);
  for (;;) {
    const block = bytes[at];
    if (block === 0x2c) {
      yield at;
      // The descriptor, its colours, and the size of the codes.
      at += 10 + colours(bytes[at + 9] ?? 0) + 1;
    } else if (block === 0x21) at += 2;
    else if (block === undefined || block === 0x3b) return;
    else {
      // Decoders skip what they do not know.
      at += 1;
      continue;
    }
    for (let length = bytes[at]; length !== undefined && length !== 0; length = bytes[at]) at += length + 1;
    at += 1;
  }
}

/** Offsets of the frames' chunks. */
function* framesOfWebp(bytes: Buffer): Iterable<number> {
  for (let at = 12; at + 8 <= bytes.length; ) {
    if (bytes.toString('latin1', at, at + 4) === 'ANMF') yield at;
    const length = bytes.readUInt32LE(at + 4);
    at += 8 + length + (length % 2);
  }
}

/** Offsets of the directories, one a page; in a circle they never end. */
function* pagesOfTiff(bytes: Buffer): Iterable<number> {
  const little = bytes[0] === 0x49;
  const big = bytes[little ? 2 : 3] === 0x2b;
  const number = (at: number, length: 2 | 4 | 8): number => {
    if (at < 0 || at + length > bytes.length) return 0;
    if (length === 8) return Number(little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
    return little ? bytes.readUIntLE(at, length) : bytes.readUIntBE(at, length);
  };
  let next = big ? number(8, 8) : number(4, 4);
  while (next !== 0 && next < bytes.length) {
    yield next;
    next = big ? number(next + 8 + 20 * number(next, 8), 8) : number(next + 2 + 12 * number(next, 2), 4);
  }
}

function textBytesOfPng(bytes: Buffer): number {
  let sum = 0;
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'zTXt' || name === 'iTXt') sum += length;
    at += 12 + length;
  }
  return sum;
}
