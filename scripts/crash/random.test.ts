import { expect, test } from 'vitest';
import { Random } from './random.ts';

const draw = (random: Random) => Array.from({ length: 20 }, () => random.int(1, 1_000));

test('a seed repeats its numbers, and another gives others', () => {
  expect(draw(new Random('a'))).toEqual(draw(new Random('a')));
  expect(draw(new Random('a'))).not.toEqual(draw(new Random('b')));
});

test('a fork does not depend on what was drawn before', () => {
  const [used, fresh] = [new Random('a'), new Random('a')];
  draw(used);
  expect(draw(used.fork('x'))).toEqual(draw(fresh.fork('x')));
  expect(draw(fresh.fork('x'))).not.toEqual(draw(fresh.fork('y')));
});

test('numbers spread over their whole range, and shuffling loses nothing', () => {
  const random = new Random('a');
  const seen = new Set(Array.from({ length: 400 }, () => random.int(3, 7)));
  expect([...seen].sort()).toEqual([3, 4, 5, 6, 7]);
  expect(random.shuffled([1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5]);
});
