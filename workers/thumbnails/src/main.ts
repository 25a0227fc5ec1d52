import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { dependencyChecks } from '@stowage/shared/ops/dependency-checks.ts';
import { openOpsServer } from '@stowage/shared/ops/ops-server.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import {
  openProcessDatabase,
  openProcessObjectStore,
  openProcessQueues,
} from '@stowage/shared/process/open-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { openThumbnailsWorker } from './worker.ts';

const NAME = 'worker-thumbnails';

/** Time for one picture, ms: the largest that is taken, animated, on a busy machine. */
const RENDER_DEADLINE_MS = 60_000;

await runProcess(NAME, async (process) => {
  const { config, logger, timings, stopping, onClose } = process;
  const db = openProcessDatabase(process, NAME);
  const backend = openProcessQueues(process);
  const store = openProcessObjectStore(process);
  const metrics = createMetrics(NAME);

  const checks = dependencyChecks({ db, backend, objectStore: store });
  const { opsHost: host, opsPort: port } = config;
  const ops = await openOpsServer({ host, port, logger, metrics, checks, stopping });
  onClose('ops port', () => ops.close());

  const relay = createRelay({ db, backend, logger, metrics, ...timings.relay });
  onClose('relay', () => relay.close());
  relay.start();

  const pool = createRenderPool({
    children: config.thumbnailsConcurrency,
    deadlineMs: RENDER_DEADLINE_MS,
    maxInputPixels: config.maxInputPixels,
    logger,
    onRendered: (outcome, seconds) => metrics.renders.rendered('job', outcome, seconds),
  });
  onClose('render children', () => pool.close());
  await pool.warm();

  const worker = openThumbnailsWorker({
    db,
    store,
    pool,
    backend,
    logger,
    metrics,
    thumbnailWidths: config.thumbnailWidths,
    maxInputPixels: config.maxInputPixels,
    concurrency: config.thumbnailsConcurrency,
    graceMs: config.shutdownGraceSeconds * 1_000,
    ...timings.jobs,
  });
  onClose('worker', () => worker.close());
});
