import { describe, expect, it } from 'vitest';
import { joinWaiting } from './join-waiting.ts';

/** Runs that end when the test says so. */
function controlled() {
  const runs: { items: readonly number[]; end: (results: number[]) => void; fail: (error: Error) => void }[] =
    [];
  const join = joinWaiting<number, number>(
    (items) => new Promise((resolve, reject) => runs.push({ items, end: resolve, fail: reject })),
    3,
  );
  return { runs, join };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('joining what waits', () => {
  it('runs a lone item at once, and those that come meanwhile together', async () => {
    const { runs, join } = controlled();
    const results = [1, 2, 3].map((item) => join('user', item));
    expect(runs.map((run) => run.items)).toEqual([[1]]);
    runs[0]!.end([10]);
    await settled();
    expect(runs.map((run) => run.items)).toEqual([[1], [2, 3]]);
    runs[1]!.end([20, 30]);
    expect(await Promise.all(results)).toEqual([10, 20, 30]);
  });

  it('keeps keys apart', () => {
    const { runs, join } = controlled();
    void join('a', 1);
    void join('b', 2);
    expect(runs.map((run) => run.items)).toEqual([[1], [2]]);
  });

  it('takes no more together than it may', async () => {
    const { runs, join } = controlled();
    for (const item of [1, 2, 3, 4, 5]) void join('user', item);
    runs[0]!.end([0]);
    await settled();
    runs[1]!.end([0, 0, 0]);
    await settled();
    expect(runs.map((run) => run.items)).toEqual([[1], [2, 3, 4], [5]]);
  });

  it('gives the error of a run to its items, and goes on with the next', async () => {
    const { runs, join } = controlled();
    const first = join('user', 1);
    const second = join('user', 2);
    runs[0]!.fail(new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    await settled();
    runs[1]!.end([20]);
    expect(await second).toBe(20);
    const third = join('user', 3);
    runs[2]!.end([30]);
    expect(await third).toBe(30);
  });
});
