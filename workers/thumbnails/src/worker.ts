import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import { type JobTimings, type JobWorker, openJobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Logger } from 'pino';
import { type RenderThumbnailsDeps, renderThumbnails } from './render-thumbnails.ts';

export interface ThumbnailsWorkerDeps extends RenderThumbnailsDeps, JobTimings {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly metrics: Pick<Metrics, 'jobs'>;
  readonly logger: Logger;
  /** Pictures at once; each has a render child. */
  readonly concurrency: number;
}

/** Takes render jobs from their queue. */
export function openThumbnailsWorker(deps: ThumbnailsWorkerDeps): JobWorker {
  return openJobWorker({
    ...deps,
    queue: 'thumbnails',
    handlers: { 'render-thumbnails': (job) => renderThumbnails(deps, job) },
  });
}
