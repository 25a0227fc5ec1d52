import { QUEUE_NAMES } from './job-types.ts';
import type { QueueBackend } from './queue-backend.ts';

const MOST_AT_ONCE = 1_000;

/**
 * Removes old failed jobs from the queues, where they are kept to be looked at in the dashboard. Their outbox rows,
 * which say why they failed and can be requeued, stay. Returns how many jobs were removed.
 */
export async function cleanFailedJobs(backend: QueueBackend, olderThanMs: number): Promise<number> {
  let removed = 0;
  for (const name of QUEUE_NAMES)
    removed += (await backend.queue(name).clean(olderThanMs, MOST_AT_ONCE, 'failed')).length;
  return removed;
}
