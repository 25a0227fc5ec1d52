import { expect, it } from 'vitest';
import { createBackOff } from './back-off.ts';

const options = { firstMs: 100, longestMs: 1_000, forgivenAfterMs: 5_000 };

it('doubles the delay with each fault, up to the longest', () => {
  const backOff = createBackOff(options);
  expect([1, 2, 3, 4, 5, 6].map(() => backOff.next(10))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(backOff.faults).toBe(6);
});

it('starts again after a run that was long enough', () => {
  const backOff = createBackOff(options);
  backOff.next(10);
  backOff.next(10);
  expect(backOff.next(5_000)).toBe(100);
  expect(backOff.next(4_999)).toBe(200);
});
