import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import { type JobWorker, openJobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Logger } from 'pino';
import { type RenderThumbnailsDeps, renderThumbnails } from './render-thumbnails.ts';

export interface ThumbnailsWorkerDeps extends RenderThumbnailsDeps {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly metrics: Pick<Metrics, 'jobs'>;
  readonly logger: Logger;
  /** Pictures at once; each has a render child. */
  readonly concurrency: number;
  /** How long running jobs may go on when the worker is closed, ms. */
  readonly graceMs?: number;
  /** First pause of a job that waits for a service that is away, ms. */
  readonly firstPauseMs?: number;
}

/** Takes render jobs from their queue. */
export function openThumbnailsWorker(deps: ThumbnailsWorkerDeps): JobWorker {
  return openJobWorker({
    backend: deps.backend,
    db: deps.db,
    logger: deps.logger,
    metrics: deps.metrics,
    queue: 'thumbnails',
    concurrency: deps.concurrency,
    handlers: { 'render-thumbnails': (job) => renderThumbnails(deps, job) },
    ...(deps.firstPauseMs !== undefined && { firstPauseMs: deps.firstPauseMs }),
    ...(deps.graceMs !== undefined && { graceMs: deps.graceMs }),
  });
}
