import { isUtf8 } from 'node:buffer';
import { extensionOf } from '@stowage/shared/images/detect-type.ts';

/** Decides over all bytes of a stream whether they are harmless text. */
export interface TextCheck {
  /** False as soon as it is certain that they are not. */
  accepts(chunk: Uint8Array): boolean;
  /** Whether a character was left unfinished. */
  isComplete(): boolean;
}

/** Names of programs and of markup that a browser would run. */
const REFUSED_EXTENSIONS = new Set(
  'exe com bat cmd ps1 vbs sh js mjs ts php py rb pl jar html htm xhtml svg xml'.split(' '),
);

/** Tags by which the WHATWG MIME sniffing standard (§7.1) recognises HTML, when one of " " and ">" follows. */
const HTML_TAGS = '!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--';
const REFUSED_START = new RegExp(`^(?:#!|<svg|<\\?xml|<(?:${HTML_TAGS})[ >])`, 'i');

/** The longest of those beginnings. */
const START_BYTES = 16;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const WHITE_SPACE = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x20]);

export function isRefusedTextName(fileName: string | null): boolean {
  return REFUSED_EXTENSIONS.has(extensionOf(fileName));
}

/** Text is UTF-8 without NUL that does not begin, after BOM and white space, like a script or markup. */
export function createTextCheck(): TextCheck {
  let unfinished = Buffer.alloc(0);
  let start = Buffer.alloc(0);
  let position = 0;

  /** Gathers the first bytes after BOM and white space, however long that is. */
  function startIsFine(chunk: Buffer): boolean {
    let from = 0;
    if (start.length === 0) {
      while (from < chunk.length && isSkipped(chunk[from] ?? 0, position + from)) from += 1;
    }
    position += chunk.length;
    if (start.length < START_BYTES && from < chunk.length) {
      start = Buffer.concat([start, chunk.subarray(from, from + START_BYTES - start.length)]);
      return !REFUSED_START.test(start.toString('latin1'));
    }
    return true;
  }

  return {
    accepts(part) {
      const chunk = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
      if (chunk.includes(0) || !startIsFine(chunk)) return false;
      const bytes = unfinished.length === 0 ? chunk : Buffer.concat([unfinished, chunk]);
      const whole = wholeCharacters(bytes);
      // A copy: the chunk's memory is not ours to keep.
      unfinished = Buffer.from(bytes.subarray(whole));
      return isUtf8(bytes.subarray(0, whole));
    },
    isComplete: () => unfinished.length === 0,
  };
}

function isSkipped(byte: number, position: number): boolean {
  return WHITE_SPACE.has(byte) || (position < BOM.length && byte === BOM[position]);
}

/** Length of the bytes without a character that only begins at their end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
