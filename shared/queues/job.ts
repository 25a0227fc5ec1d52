import type { Logger } from 'pino';
import type { JobName, JobPayload } from './job-types.ts';

/** One delivery of a job, as its handler sees it. */
export interface Job<N extends JobName = JobName> {
  /** The id of the outbox row: pass it to completeJob in the transaction of the effect. */
  readonly id: string;
  readonly name: N;
  readonly payload: JobPayload<N>;
  /** From 1. */
  readonly attempt: number;
  /** An ordinary error now fails the job for good. */
  readonly lastAttempt: boolean;
  readonly requestId: string | undefined;
  /** Carries the job's name and id, and the id of the request that caused it. */
  readonly logger: Logger;
  /** Aborted when the process must stop or the job was given to another worker. */
  readonly signal: AbortSignal;
}

/** A job is delivered at least once: a handler does its work, and nothing more when it was done before. */
export type JobHandlers = { readonly [N in JobName]?: (job: Job<N>) => Promise<void> };
