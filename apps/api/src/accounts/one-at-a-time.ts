export interface Turns {
  /** Runs the work when all earlier work under the same key has ended. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** Lets works under the same key run one after the other; those under different keys do not wait. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async run(key, work) {
      const before = last.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      last.set(key, mine);
      try {
        return await mine;
      } finally {
        if (last.get(key) === mine) last.delete(key);
      }
    },
  };
}
