import { describe, expect, it } from 'vitest';
import { cleanOriginalName } from './original-name.ts';

describe('the name that a client gives a file', () => {
  it.each([
    ['holiday.jpg', 'holiday.jpg'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ada\\photo.png', 'photo.png'],
    ['a\u0000b.txt', 'ab.txt'],
    ['a\r\nSet-Cookie: x=1.txt', 'aSet-Cookie: x=1.txt'],
    ['🦄 & Œuvre.pdf', '🦄 & Œuvre.pdf'],
    ['e\u0301.txt', '\u00e9.txt'],
    // The right-to-left mark would show "exe.txt" as "txt.exe".
    ['a\u202etxt.exe', 'atxt.exe'],
    ['broken \ud800 half', 'broken \ufffd half'],
    ['  spaces.txt ', 'spaces.txt'],
    ['a.exe.', 'a.exe'],
    ['a.exe ', 'a.exe'],
    ['a.exe. .\u00a0..', 'a.exe'],
    ['.hidden', '.hidden'],
  ])('%j is kept as %j', (given, kept) => {
    expect(cleanOriginalName(given)).toBe(kept);
  });

  it.each([undefined, '', '.', '..', '. .', '/', 'a/', '\u0000\u0007'])('%j is none', (given) => {
    expect(cleanOriginalName(given)).toBeNull();
  });

  it('is cut to 255 bytes between characters, with its extension', () => {
    const kept = cleanOriginalName(`${'🦄'.repeat(1_000)}.jpeg`);
    expect(kept).toBe(`${'🦄'.repeat(62)}.jpeg`);
    expect(Buffer.byteLength(kept ?? '')).toBeLessThanOrEqual(255);
    expect(cleanOriginalName('x'.repeat(4_096))).toBe('x'.repeat(255));
    expect(cleanOriginalName(`a.exe${'.'.repeat(400)}b c`)).toBe('a.exe');
  });
});
