import { expect, it } from 'vitest';
import { judgeMemory } from './verdict.ts';

const samples = (memory: readonly number[]) =>
  memory.map((memoryMb, index) => ({ seconds: index, memoryMb }));

it('takes memory that rises once and then stays for flat', () => {
  expect(judgeMemory(samples([100, 150, 200, 300, 310, 290, 300, 320, 300]))).toEqual({
    isFlat: true,
    middleMb: 300,
    lastMb: 300,
  });
});

it('does not take memory that keeps growing for flat', () => {
  expect(judgeMemory(samples([100, 150, 200, 250, 300, 350, 400, 450, 500])).isFlat).toBe(false);
});
