import { Counter, Histogram, type Registry } from '@prometheus-io/client';

/** How a delivery of a job ended. */
export type JobOutcome =
  /** Its effect is committed. */
  | 'done'
  /** Failed for good: the outbox row says why. */
  | 'failed'
  /** Will be tried again. */
  | 'retried'
  /** Given back unfinished, because the process stops. */
  | 'handed-back'
  /** Delivered again after it was done. */
  | 'duplicate';

export interface JobMetrics {
  finished(queue: string, job: string, outcome: JobOutcome, seconds: number): void;
}

/** Deliveries of jobs by queue, name and outcome, and how long they took. */
export function createJobMetrics(registry: Registry): JobMetrics {
  const jobs = new Counter({
    name: 'stowage_jobs_total',
    help: 'Deliveries of jobs by how they ended: done, failed, retried, handed-back, duplicate.',
    labelNames: ['queue', 'job', 'outcome'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'stowage_job_duration_seconds',
    help: 'Time from taking a job to its end.',
    labelNames: ['queue', 'job'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60],
    registers: [registry],
  });
  return {
    finished(queue, job, outcome, seconds) {
      jobs.inc({ queue, job, outcome });
      durations.observe({ queue, job }, seconds);
    },
  };
}
