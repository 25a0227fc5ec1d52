import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import type { Child } from './child.ts';

export interface StopTimings {
  /** How long the workers wait for the API to finish its requests, in milliseconds. */
  readonly apiHeadStartMs: number;
  /** When whatever still runs is killed, in milliseconds from the beginning. */
  readonly killAfterMs: number;
}

export const STOP_TIMINGS: StopTimings = { apiHeadStartMs: 2_000, killAfterMs: 13_000 };

/** Ends the API first (no new work comes in), then the workers, and kills what has not ended in time. */
export async function stopChildren(
  api: Child | undefined,
  workers: readonly Child[],
  hurry: AbortSignal,
  timings: StopTimings,
  logger: Logger,
): Promise<void> {
  const all = api === undefined ? workers : [api, ...workers];
  const killed = new AbortController();
  const killer = sleep(timings.killAfterMs, undefined, { signal: AbortSignal.any([hurry, killed.signal]) })
    .catch(() => undefined)
    .then(() => {
      if (killed.signal.aborted) return;
      logger.error('not all processes ended in time: they are killed');
      for (const child of all) child.kill();
    });
  const apiStopped = api?.stop();
  await Promise.race([
    apiStopped,
    sleep(timings.apiHeadStartMs, undefined, { signal: hurry }).catch(() => undefined),
  ]);
  await Promise.all([apiStopped, ...workers.map((worker) => worker.stop())]);
  killed.abort();
  await killer;
}
