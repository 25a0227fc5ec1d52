import type { JobQueue } from '../queues/queue-backend.ts';

/** It lives among the queue's own data, so it is lost when that is lost. */
const FIELD = 'stowage-outbox';

/** Tells whether the queue still holds what was published to it. False for a new queue. */
export async function hasMarker(queue: JobQueue): Promise<boolean> {
  return (await queue.getBackend().getQueueMetaField(FIELD)) !== null;
}

/** Marks the queue. Set it only after the open rows were made due: a crash in between then repeats that. */
export async function setMarker(queue: JobQueue): Promise<void> {
  await queue.getBackend().setQueueMeta({ [FIELD]: Date.now() });
}
