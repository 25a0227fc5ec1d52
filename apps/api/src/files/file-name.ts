import { randomBytes } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';

/** Crockford's base32, in lower case: no i, l, o or u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const STEM_LENGTH = 26;
const STEM_BYTES = 16;
const MAX_WIDTH = 4096;

const NAME = /^([0-9abcdefghjkmnpqrstvwxyz]{26})(?:_([0-9]+))?\.([a-z0-9]{1,8})$/;

/** What a path names: an original, or a thumbnail when there is a width. */
export interface FileName {
  readonly stem: string;
  readonly extension: string;
  /** Pixels, 1…4096. */
  readonly width?: number;
}

/** 26 characters from 128 random bits. Reads are public: the name is the only secret. */
export function newStem(): string {
  let bits = BigInt(`0x${randomBytes(STEM_BYTES).toString('hex')}`);
  let stem = '';
  while (stem.length < STEM_LENGTH) {
    stem = ALPHABET.charAt(Number(bits & 31n)) + stem;
    bits >>= 5n;
  }
  return stem;
}

/**
 * Reads `<stem>.<ext>` and `<stem>_<width>.<ext>`.
 * @throws {AppError} FILE_NOT_FOUND when it has another shape, INVALID_WIDTH when the digits are not 1…4096
 */
export function parseFileName(text: string): FileName {
  const [, stem, digits, extension] = NAME.exec(text) ?? [];
  if (stem === undefined || extension === undefined) throw fileNotFound();
  if (digits === undefined) return { stem, extension };
  const width = Number(digits);
  if (width < 1 || width > MAX_WIDTH)
    throw new AppError('INVALID_WIDTH', `The width must be from 1 to ${MAX_WIDTH} pixels.`, {
      details: { min: 1, max: MAX_WIDTH },
    });
  return { stem, extension, width };
}

export function fileNotFound(): AppError {
  return new AppError('FILE_NOT_FOUND', 'There is no such file.');
}
