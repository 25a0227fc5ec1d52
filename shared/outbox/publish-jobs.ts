import type { JobQueue } from '../queues/queue-backend.ts';
import type { DueJob } from './claim-due-jobs.ts';

/** How often a job is tried before it fails for good, and the pause after the first try; it doubles each time. */
export interface Retries {
  readonly attempts: number;
  readonly firstPauseMs: number;
}

/** BullMQ takes no larger one. */
const LOWEST_PRIORITY = 2 ** 21 - 1;

/** Failed jobs that are looked through for one that is to be published again. */
const FAILED_LOOKED_AT = 10_000;

/**
 * Puts rows into their queue. A row that is there already stays as it is: publishing twice is harmless.
 */
export async function publishJobs(queue: JobQueue, jobs: readonly DueJob[], retries: Retries): Promise<void> {
  await removeFailed(queue, jobs);
  await queue.addBulk(
    jobs.map((job) => ({
      name: job.name,
      data: { payload: job.payload, requestId: job.requestId },
      opts: {
        jobId: job.id,
        priority: Math.min(Math.max(job.priority, 0), LOWEST_PRIORITY),
        delay: job.delayMs,
        attempts: retries.attempts,
        backoff: { type: 'exponential', delay: retries.firstPauseMs, jitter: 0.5 },
        // Anything but true is slow on Postgres, and two workers that trim the same history deadlock.
        removeOnComplete: true,
        stackTraceLimit: 5,
      },
    })),
  );
}

/**
 * BullMQ silently ignores a job whose id is among the failed ones. A row that is open although BullMQ gave up on
 * the job (its worker died with it too often) would never run again.
 */
async function removeFailed(queue: JobQueue, jobs: readonly DueJob[]): Promise<void> {
  const again = new Set(jobs.filter((job) => job.publishes > 0).map((job) => job.id));
  if (again.size === 0) return;
  const [failed = []] = await queue.getBackend().getRanges(['failed'], 0, FAILED_LOOKED_AT - 1);
  await Promise.all(failed.filter((id) => again.has(id)).map((id) => queue.remove(id)));
}
