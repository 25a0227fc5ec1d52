import { QUEUE_NAMES } from '@stowage/shared/queues/job-types.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Requeued } from './requeue-failed.ts';

/** Takes replaced jobs out of the queues, so that the dashboard shows as failed only what still is. */
export async function removeFromQueues(backend: QueueBackend, replaced: Requeued['replaced']): Promise<void> {
  for (const name of QUEUE_NAMES) {
    const queue = backend.queue(name);
    for (const job of replaced) if (job.queue === name) await queue.remove(job.id);
  }
}
