import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import { type JobTimings, type JobWorker, openJobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Logger } from 'pino';
import { postUsage } from './post-usage.ts';

export interface QuotaAccountingWorkerOptions extends JobTimings {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'jobs'>;
  /** Users whose usage is posted at once. */
  readonly concurrency: number;
}

/** Works on the queue `quota-accounting`. */
export function openQuotaAccountingWorker({ db, ...options }: QuotaAccountingWorkerOptions): JobWorker {
  return openJobWorker({
    ...options,
    db,
    queue: 'quota-accounting',
    handlers: {
      'post-usage': async (job) => {
        const entries = await postUsage({ db }, job);
        job.logger.debug({ entries }, 'usage posted');
      },
    },
  });
}
