import { describe, expect, it } from 'vitest';
import { createTurns } from './one-at-a-time.ts';

describe('createTurns', () => {
  it('runs works under one key in order, also after one that fails, and others beside them', async () => {
    const turns = createTurns();
    const events: string[] = [];
    const first = Promise.withResolvers<void>();
    const a1 = turns.run('a', async () => {
      events.push('a1 begins');
      await first.promise;
      throw new Error('a1 fails');
    });
    const a2 = turns.run('a', async () => events.push('a2'));
    await turns.run('b', async () => events.push('b'));
    expect(events).toEqual(['a1 begins', 'b']);
    first.resolve();
    await expect(a1).rejects.toThrow('a1 fails');
    await a2;
    expect(events).toEqual(['a1 begins', 'b', 'a2']);
  });
});
