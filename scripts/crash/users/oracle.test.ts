import { expect, test } from 'vitest';
import { type KeptFile, UserBook } from './oracle.ts';

const file = (name: string, sizeBytes: number): Omit<KeptFile, 'state'> => ({
  name,
  sizeBytes,
  sha256: 'x',
  isPicture: false,
});

test('the quota is what is kept, and the acknowledged changes', () => {
  const book = new UserBook('u');
  book.acknowledge(file('a', 5_000));
  book.acknowledge(file('b', 7_000));
  book.acknowledge(file('a', 5_000));
  book.adjustment = 30;
  expect(book.expectedQuota).toBe(12_030);
  for (const kept of book.kept) if (kept.name === 'a') kept.state = 'deleted';
  expect(book.expectedQuota).toBe(7_030);
});

test('unsure increases are settled by the sum, and explain nothing else', () => {
  const book = new UserBook('u');
  book.acknowledge(file('a', 5_000));
  book.unsureIncreases = [10, 25, 300];
  expect(book.settleIncreases(5_000 + 5_000)).toBe(false);
  expect(book.settleIncreases(5_011)).toBe(false);
  expect(book.settleIncreases(5_310)).toBe(true);
  expect(book.expectedQuota).toBe(5_310);
  expect(book.settleIncreases(5_335)).toBe(false);
});
