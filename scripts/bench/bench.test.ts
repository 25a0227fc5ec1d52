import { expect, test } from 'vitest';
import { isMet, type Line, ratioOf } from './line.ts';
import { median, percentile } from './statistics.ts';
import { formatNumber, formatTable } from './table.ts';

const line: Line = { what: 'work', unit: 'ms', ours: 30, counterpart: { name: 'other', value: 90 } };

test('The median is the middle value, whatever the order, and the mean of two middle ones', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([10, 1, 2, 4])).toBe(3);
  expect(median([7])).toBe(7);
  expect(median([])).toBeNaN();
});

test('A percentile is a value that was measured', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(percentile(hundred, 95)).toBe(95);
  expect(percentile([3, 1], 50)).toBe(1);
  expect(percentile([], 95)).toBeNaN();
});

test('A ratio is ours to the counterpart, and is held against the target from both sides', () => {
  expect(ratioOf(line)).toBeCloseTo(1 / 3);
  expect(isMet(line)).toBeUndefined();
  expect(isMet({ ...line, target: { atMost: 0.34 } })).toBe(true);
  expect(isMet({ ...line, target: { atMost: 0.3 } })).toBe(false);
  expect(isMet({ ...line, target: { atLeast: 0.5 } })).toBe(false);
});

test('Without a counterpart the figure itself is held against the target', () => {
  expect(isMet({ what: 'memory', unit: 'MB', ours: 90, target: { atMost: 96 } })).toBe(true);
  expect(isMet({ what: 'memory', unit: 'MB', ours: 97, target: { atMost: 96 } })).toBe(false);
  expect(isMet({ what: 'memory', unit: 'MB', ours: Number.NaN, target: { atMost: 96 } })).toBe(false);
});

test('The table is Markdown with one row a line', () => {
  const table = formatTable([{ ...line, target: { atMost: 0.4 }, note: 'twice' }]);
  const [header = '', rule = '', row = ''] = table.split('\n');
  expect(header.length).toBe(row.length);
  expect(rule).toMatch(/^\|(-+\|){7}$/);
  expect(row.split('|').map((cell) => cell.trim())).toEqual([
    '',
    'work (twice)',
    'ms',
    '30',
    '90 other',
    '0.333×',
    '≤ 0.4×',
    'yes',
    '',
  ]);
});

test('Numbers are shown with three digits that count', () => {
  expect([0.123456, 12.345, 123.4, 12345, 1].map(formatNumber)).toEqual([
    '0.123',
    '12.3',
    '123',
    '12,345',
    '1',
  ]);
});
