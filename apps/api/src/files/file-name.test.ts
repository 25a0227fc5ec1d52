import { describe, expect, it } from 'vitest';
import { newStem, parseFileName } from './file-name.ts';

const STEM = '0123456789abcdefghjkmnpqrs';

const codeOf = (name: string) => {
  try {
    return parseFileName(name);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('a new stem', () => {
  it('is 26 characters of Crockford base32, of which no two are alike', () => {
    const stems = new Set(Array.from({ length: 1_000 }, newStem));
    expect(stems.size).toBe(1_000);
    for (const stem of stems) expect(stem).toMatch(/^[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  });

  it('uses every bit: all characters come up at every place but the first', () => {
    const stems = Array.from({ length: 2_000 }, newStem);
    for (let place = 1; place < 26; place += 1)
      expect(new Set(stems.map((stem) => stem[place])).size).toBe(32);
  });
});

describe('a file name', () => {
  it('names an original or a thumbnail', () => {
    expect(parseFileName(`${STEM}.jpg`)).toEqual({ stem: STEM, extension: 'jpg' });
    expect(parseFileName(`${STEM}_1.jpg`)).toEqual({ stem: STEM, extension: 'jpg', width: 1 });
    expect(parseFileName(`${STEM}_4096.webp`)).toEqual({ stem: STEM, extension: 'webp', width: 4096 });
    expect(parseFileName(`${STEM}_0064.jpg`)).toMatchObject({ width: 64 });
  });

  it.each(['0', '00', '4097', '99999999999999999999999999'])('cannot have the width %s', (width) => {
    expect(codeOf(`${STEM}_${width}.jpg`)).toBe('INVALID_WIDTH');
  });

  it.each([
    `${STEM}_abc.jpg`,
    `${STEM}_-1.jpg`,
    `${STEM}_1.5.jpg`,
    `${STEM}_.jpg`,
    `${STEM}_1_2.jpg`,
    STEM,
    `${STEM}.`,
    `${STEM.slice(1)}.jpg`,
    `${STEM}0.jpg`,
    `${STEM.toUpperCase()}.jpg`,
    `${'u'.repeat(26)}.jpg`,
    `../${STEM}.jpg`,
    `${STEM}.jpg/`,
    `${STEM}.jpg\n`,
    `${STEM}.jp\u0000g`,
    '',
  ])('is not found as %j', (name) => {
    expect(codeOf(name)).toBe('FILE_NOT_FOUND');
  });
});
