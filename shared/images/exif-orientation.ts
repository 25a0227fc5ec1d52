/** Orientation 1…8, or undefined when the TIFF structure (also the body of an EXIF block) does not say one. */
export function readOrientation(tiff: Buffer): number | undefined {
  try {
    const bigEndian = tiff.toString('latin1', 0, 2) === 'MM';
    const short = (at: number) => (bigEndian ? tiff.readUInt16BE(at) : tiff.readUInt16LE(at));
    const directory = bigEndian ? tiff.readUInt32BE(4) : tiff.readUInt32LE(4);
    const entries = short(directory);
    for (let entry = 0; entry < entries; entry += 1) {
      const at = directory + 2 + entry * 12;
      if (short(at) !== ORIENTATION) continue;
      const value = short(at + 8);
      return value >= 1 && value <= 8 ? value : undefined;
    }
  } catch (error) {
    // It was cut off or points outside: there is nothing to learn from it.
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}

const ORIENTATION = 274;
