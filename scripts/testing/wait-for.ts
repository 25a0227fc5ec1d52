import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** When to give up, in milliseconds. Generous: it is only reached when the test fails. */
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/** Asks again and again until the answer is neither undefined nor false, and returns it. */
export async function waitFor<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions = {},
): Promise<T> {
  const deadline = Date.now() + (options.timeoutMs ?? 60_000);
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`what was waited for did not happen: ${ask.toString()}`);
    await sleep(options.intervalMs ?? 20);
  }
}
