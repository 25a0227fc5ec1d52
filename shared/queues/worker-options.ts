import type { WorkerSettings } from './queue-backend.ts';

const LOCK_DURATION_MS = 20_000;
const STALLED_INTERVAL_MS = 10_000;

/**
 * A stalled job counts against every job its worker held, so one stall says little about a job. BullMQ's own
 * default of 1 would give up on the neighbours of a job that killed its process.
 */
const MAX_STALLED_COUNT = 3;

/** How long a worker waits after its backend was away, ms. BullMQ's default of 15 s outlasts most outages. */
const RETRY_DELAY_MS = 1_000;

/** Nobody listens to BullMQ's events, so few are kept. It keeps 10,000 by default. */
export const EVENT_STREAM = { events: { maxLen: 500 } };

/** The options of a BullMQ worker that are the same on both backends. */
export function workerOptions(settings: WorkerSettings) {
  return {
    concurrency: settings.concurrency,
    lockDuration: settings.lockDurationMs ?? LOCK_DURATION_MS,
    stalledInterval: settings.stalledIntervalMs ?? STALLED_INTERVAL_MS,
    maxStalledCount: MAX_STALLED_COUNT,
    runRetryDelay: RETRY_DELAY_MS,
  };
}
