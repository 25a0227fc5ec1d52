/** Handles the items that waited together, and gives one result for each, in order. */
export type RunTogether<T, R> = (items: readonly T[]) => Promise<readonly R[]>;

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets one call per key run at a time; those that come meanwhile wait and run together as the next one. A lone
 * item never waits. An error of a run is the error of all its items.
 */
export function joinWaiting<T, R>(
  run: RunTogether<T, R>,
  mostTogether = 64,
): (key: string, item: T) => Promise<R> {
  const queues = new Map<string, Waiting<T, R>[]>();

  async function drain(key: string, queue: Waiting<T, R>[]): Promise<void> {
    while (queue.length > 0) {
      const together = queue.splice(0, mostTogether);
      try {
        const results = await run(together.map((waiting) => waiting.item));
        together.forEach((waiting, index) => {
          const result = results[index];
          if (result === undefined) waiting.reject(new Error('A run gave fewer results than it had items.'));
          else waiting.resolve(result);
        });
      } catch (error) {
        for (const waiting of together) waiting.reject(error);
      }
    }
    queues.delete(key);
  }

  return (key, item) =>
    new Promise((resolve, reject) => {
      const queue = queues.get(key);
      if (queue !== undefined) {
        queue.push({ item, resolve, reject });
        return;
      }
      const started = [{ item, resolve, reject }];
      queues.set(key, started);
      void drain(key, started);
    });
}
