import { describe, expect, it } from 'vitest';
import { parseRange } from './byte-range.ts';

describe('a Range header', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=0-99', { start: 0, end: 99 }],
    ['bytes=10-', { start: 10, end: 99 }],
    ['bytes=10-1000', { start: 10, end: 99 }],
    ['bytes=-1', { start: 99, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['BYTES=5-6', { start: 5, end: 6 }],
    ['bytes= 5-6 ', { start: 5, end: 6 }],
    [`bytes=0-${'9'.repeat(40)}`, { start: 0, end: 99 }],
  ])('%s is a part of 100 bytes', (header, range) => {
    expect(parseRange(header, 100)).toEqual(range);
  });

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=5-4',
    'items=0-1',
    'bytes=0-1,2-3',
    'bytes=0x1-2',
  ])('%s means the whole', (header) => {
    expect(parseRange(header, 100)).toBe('whole');
  });

  it('of a thousand ranges is the whole too', () => {
    const ranges = Array.from({ length: 1_000 }, (_, n) => `${n}-${n}`).join(',');
    expect(parseRange(`bytes=${ranges}`, 100_000)).toBe('whole');
  });

  it.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('%s cannot be satisfied', (header) => {
    expect(parseRange(header, 100)).toBe('unsatisfiable');
  });
});
