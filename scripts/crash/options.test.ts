import { expect, test } from 'vitest';
import { parseCrashOptions, ROUND_KINDS } from './options.ts';

test('without options it runs all kinds for 20 minutes, with a seed of its own', () => {
  const options = parseCrashOptions([]);
  expect(options).toMatchObject({ minutes: 20, short: false, kinds: ROUND_KINDS, keep: false });
  expect(parseCrashOptions([]).seed).not.toBe(options.seed);
});

test('the short form hits the named points, and mixes all else', () => {
  expect(parseCrashOptions(['--short', '--seed', 'x'])).toMatchObject({
    seed: 'x',
    kinds: ['points', 'mixed'],
  });
});

test('kinds may be chosen, in the usual order', () => {
  expect(parseCrashOptions(['--faults', 'mixed,kill']).kinds).toEqual(['kill', 'mixed']);
});

test.each([[['--faults', 'kill,flood']], [['--minutes', 'soon']], [['--minutes', '0']], [['--fast']]])(
  'what it does not know it refuses: %j',
  (args) => {
    expect(() => parseCrashOptions(args)).toThrow();
  },
);
