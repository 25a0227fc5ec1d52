import { setTimeout as wait } from 'node:timers/promises';
import { isPassing } from './s3-failure.ts';

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 50;

/** Tries again, twice at most, after failures that pass by themselves; 25–50 ms and 100–200 ms between. */
export async function withRetries<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted === true || failures === ATTEMPTS || !isPassing(error)) throw error;
      const pause = FIRST_PAUSE_MS * 4 ** (failures - 1) * (0.5 + Math.random() / 2);
      // An abort while waiting shows as the first failure; the caller looks at the signal.
      await wait(pause, undefined, signal === undefined ? {} : { signal }).catch(() => {
        throw error;
      });
    }
  }
}
