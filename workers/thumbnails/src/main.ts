import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { openProcessObjectStore } from '@stowage/shared/process/open-services.ts';
import { openWorkerServices } from '@stowage/shared/process/open-worker-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { openThumbnailsWorker } from './worker.ts';

const NAME = 'worker-thumbnails';

/** Time for one picture, ms: the largest that is taken, animated, on a busy machine. */
const RENDER_DEADLINE_MS = 60_000;

await runProcess(NAME, async (process) => {
  const { config, logger, onClose } = process;
  const store = openProcessObjectStore(process);
  const services = await openWorkerServices(process, NAME, store);

  const pool = createRenderPool({
    children: config.thumbnailsConcurrency,
    deadlineMs: RENDER_DEADLINE_MS,
    maxInputPixels: config.maxInputPixels,
    logger,
    onRendered: (outcome, seconds) => services.metrics.renders.rendered('job', outcome, seconds),
  });
  onClose('render children', () => pool.close());
  await pool.warm();

  const worker = openThumbnailsWorker({
    ...services,
    store,
    pool,
    thumbnailWidths: config.thumbnailWidths,
    maxInputPixels: config.maxInputPixels,
    concurrency: config.thumbnailsConcurrency,
  });
  onClose('worker', () => worker.close());
});
