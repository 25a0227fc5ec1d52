import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../database/open-database.ts';
import { AppError } from '../errors/app-error.ts';
import type { JobMetrics } from '../metrics/job-metrics.ts';
import type { JobHandlers } from './job.ts';
import type { QueueName } from './job-types.ts';
import { type DeliveryDeps, processDelivery } from './process-delivery.ts';
import type { QueueBackend } from './queue-backend.ts';

export interface JobWorkerOptions extends JobTimings {
  readonly backend: QueueBackend;
  readonly db: Db;
  readonly logger: Logger;
  readonly metrics: { readonly jobs: JobMetrics };
  readonly queue: QueueName;
  /** Jobs that run at once in this process. */
  readonly concurrency: number;
  readonly handlers: JobHandlers;
}

export interface JobTimings {
  /** How long running jobs may go on when the worker is closed, ms. Then their signal is aborted. Default 8,000. */
  readonly graceMs?: number;
  /** How long an aborted job may take to notice before it is handed back unfinished, ms. Default 1,000. */
  readonly abandonAfterMs?: number;
  /** First pause of a job that waits for a dependency, ms; it doubles up to a minute. Default 1,000. */
  readonly firstPauseMs?: number;
  /** How long a job stays this worker's without a sign of life, ms. Default 20,000. */
  readonly lockDurationMs?: number;
  /** How often jobs of dead workers are looked for, ms. Default 10,000. */
  readonly stalledIntervalMs?: number;
}

export interface JobWorker {
  /** Resolves once the worker has reached its backend. */
  ready(): Promise<void>;
  /** Takes no more jobs. Running ones finish within the grace or are handed back, to be run elsewhere at once. */
  close(): Promise<void>;
}

/** Beyond the grace: to hand back. When that is over, the backend is away. */
const CLOSE_SLACK_MS = 2_000;
const DISCONNECT_MS = 1_000;

/** Starts to work on the jobs of one queue. */
export function openJobWorker(options: JobWorkerOptions): JobWorker {
  const { backend, queue, logger, graceMs = 8_000, abandonAfterMs = 1_000 } = options;
  const running = new Map<string, AbortController>();
  const deps: DeliveryDeps = {
    db: options.db,
    logger,
    metrics: options.metrics.jobs,
    handlers: options.handlers,
    running,
    abandonAfterMs,
    firstPauseMs: options.firstPauseMs ?? 1_000,
  };

  const worker = backend.worker(queue, (delivered, token) => processDelivery(deps, delivered, token), {
    concurrency: options.concurrency,
    ...(options.lockDurationMs !== undefined && { lockDurationMs: options.lockDurationMs }),
    ...(options.stalledIntervalMs !== undefined && { stalledIntervalMs: options.stalledIntervalMs }),
  });
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const id of jobIds)
      running.get(id)?.abort(new AppError('INTERNAL', 'The job was lost to another worker.'));
  });
  worker.on('stalled', (jobId) =>
    logger.warn({ jobId, queue }, 'a worker died with this job: it runs again'),
  );
  logger.info({ queue, concurrency: options.concurrency }, 'working');

  const close = async () => {
    let timer: NodeJS.Timeout | undefined;
    const stopJobs = setTimeout(() => {
      for (const controller of running.values())
        controller.abort(new AppError('SHUTTING_DOWN', 'The process is stopping.'));
    }, graceMs);
    const tooLate = new Promise<'too late'>((resolve) => {
      timer = setTimeout(() => resolve('too late'), graceMs + abandonAfterMs + CLOSE_SLACK_MS);
    });
    try {
      const broken = worker.close().catch((error: unknown) => ({ error }));
      const end = await Promise.race([broken, tooLate]);
      if (end === undefined) return;
      // Its connection broke while it was told goodbye, or nothing comes back: what it held is handed on by its locks.
      logger.warn(
        { queue, ...(end !== 'too late' && { err: end.error }) },
        'leaving without a word to the queue',
      );
      await Promise.race([worker.disconnect().catch(() => undefined), sleep(DISCONNECT_MS)]);
    } finally {
      clearTimeout(stopJobs);
      clearTimeout(timer);
    }
  };
  let closed: Promise<void> | undefined;
  return {
    ready: () => worker.waitUntilReady(),
    close() {
      closed ??= close();
      return closed;
    },
  };
}
