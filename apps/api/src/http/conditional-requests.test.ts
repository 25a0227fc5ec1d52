import { describe, expect, it } from 'vitest';
import { isNotModified, isRangeWanted } from './conditional-requests.ts';

const validators = { etag: '"abc"', lastModified: new Date('2026-11-20T10:00:00.500Z') };
const SAME = 'Fri, 20 Nov 2026 10:00:00 GMT';
const EARLIER = 'Fri, 20 Nov 2026 09:59:59 GMT';

describe('a reader has it already', () => {
  it.each([
    { 'if-none-match': '"abc"' },
    { 'if-none-match': 'W/"abc"' },
    { 'if-none-match': '"x", W/"abc"' },
    { 'if-none-match': '*' },
    { 'if-modified-since': SAME },
    { 'if-modified-since': 'Friday, 20-Nov-26 10:00:00 GMT' },
    { 'if-modified-since': 'Fri Nov 20 10:00:00 2026' },
  ])('with %o', (headers) => {
    expect(isNotModified(headers, validators)).toBe(true);
  });

  it.each([
    {},
    { 'if-none-match': '"x"' },
    { 'if-none-match': 'abc' },
    { 'if-none-match': '"ab","c"' },
    { 'if-modified-since': EARLIER },
    { 'if-modified-since': 'yesterday' },
    { 'if-modified-since': '2027-01-01' },
    // If-None-Match decides alone.
    { 'if-none-match': '"x"', 'if-modified-since': SAME },
  ])('but not with %o', (headers) => {
    expect(isNotModified(headers, validators)).toBe(false);
  });

  it('never by date when there is none', () => {
    expect(isNotModified({ 'if-modified-since': SAME }, { etag: '"abc"' })).toBe(false);
  });
});

describe('a Range counts', () => {
  it.each([{}, { 'if-range': '"abc"' }, { 'if-range': SAME }])('with %o', (headers) => {
    expect(isRangeWanted(headers, validators)).toBe(true);
  });

  it.each([
    { 'if-range': 'W/"abc"' },
    { 'if-range': '"x"' },
    { 'if-range': EARLIER },
    { 'if-range': 'Fri, 20 Nov 2026 10:00:01 GMT' },
    { 'if-range': 'nonsense' },
  ])('but not with %o', (headers) => {
    expect(isRangeWanted(headers, validators)).toBe(false);
  });
});
