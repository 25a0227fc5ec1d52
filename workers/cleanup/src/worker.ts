import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import { startSweeps } from '@stowage/shared/process/sweeps.ts';
import { cleanFailedJobs } from '@stowage/shared/queues/clean-failed-jobs.ts';
import { type JobTimings, openJobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import { deleteFile } from './delete-file.ts';
import { type PeriodicWorkDeps, periodicWork } from './periodic-work.ts';

export interface CleanupWorkerOptions extends PeriodicWorkDeps, JobTimings {
  readonly metrics: Pick<Metrics, 'jobs'>;
  /** Files whose bytes are removed at once. */
  readonly concurrency: number;
}

export interface CleanupWorker {
  /** Resolves once the worker has reached its queue. */
  ready(): Promise<void>;
  /** Runs a sweep now, whenever it ran last. Rejects with what it throws. */
  runSweep(name: string): Promise<void>;
  /** Takes no more work, and waits for what runs. */
  close(): Promise<void>;
}

/** How long the queue dashboard shows a failed job. Its outbox row stays until it is requeued. */
const FAILED_JOBS_SHOWN_MS = 7 * 86_400_000;
const HOUR_MS = 3_600_000;

/** Works on the queue `cleanup`, and does the periodic work. */
export function openCleanupWorker(options: CleanupWorkerOptions): CleanupWorker {
  const { db, logger, relayKick } = options;
  const jobs = openJobWorker({
    ...options,
    queue: 'cleanup',
    handlers: {
      'delete-file': async (job) => {
        await deleteFile(options, job);
        relayKick();
      },
    },
  });
  const tidying = {
    name: 'clean-failed-jobs',
    intervalMs: HOUR_MS,
    run: () => cleanFailedJobs(options.backend, FAILED_JOBS_SHOWN_MS),
  };
  const sweeps = startSweeps({ db, logger, sweeps: [...periodicWork(options), tidying] });
  return {
    ready: () => jobs.ready(),
    runSweep: (name) => sweeps.runNow(name),
    close: async () => {
      const ends = await Promise.allSettled([sweeps.close(), jobs.close()]);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}
