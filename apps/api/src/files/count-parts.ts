/** Counts the parts of a multipart body by its delimiters, while it arrives. */
export interface PartCount {
  take(chunk: Buffer): void;
  /** Parts that have begun. */
  count(): number;
}

const DASH = 0x2d;
/** Behind a delimiter: two dashes end the body, all else begins a part. */
const AFTER_BYTES = 2;

/**
 * By RFC 2046, 5.1.1, with nothing but the delimiters looked at, so that it sees also the parts whose headers no
 * parser can read.
 */
export function countParts(boundary: string): PartCount {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const whole = delimiter.length + AFTER_BYTES;
  // The first delimiter may be the first thing in the body.
  let tail: Buffer = Buffer.from('\r\n');
  let parts = 0;
  let ended = false;

  function search(bytes: Buffer): void {
    let at = bytes.indexOf(delimiter);
    while (at !== -1 && at + whole <= bytes.length && !ended) {
      const after = at + delimiter.length;
      if (bytes[after] === DASH && bytes[after + 1] === DASH) ended = true;
      else parts += 1;
      at = bytes.indexOf(delimiter, after);
    }
  }

  return {
    take(chunk) {
      if (ended) return;
      // First what begins before this chunk; neither holds a delimiter that the other sees.
      search(Buffer.concat([tail, chunk.subarray(0, whole - 1)]));
      search(chunk);
      tail =
        chunk.length >= whole - 1
          ? Buffer.from(chunk.subarray(1 - whole))
          : Buffer.concat([tail, chunk]).subarray(1 - whole);
    },
    count: () => parts,
  };
}
