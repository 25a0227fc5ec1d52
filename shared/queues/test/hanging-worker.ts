import { openDatabase } from '../../database/open-database.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { openJobWorker } from '../open-job-worker.ts';
import { openQueueBackend } from '../open-queue-backend.ts';
import { silent } from './rig.ts';

// A worker process that takes a job and never ends it. Its parent waits for the job's id, then kills it.
const [url = '', backendOptions = ''] = process.argv.slice(2);
openJobWorker({
  backend: openQueueBackend(JSON.parse(backendOptions), silent),
  db: openDatabase({ url, poolSize: 1, applicationName: 'stowage-test', onIdleError: () => undefined }),
  logger: silent,
  metrics: createMetrics('test'),
  queue: 'quota-accounting',
  concurrency: 1,
  lockDurationMs: 400,
  stalledIntervalMs: 200,
  handlers: {
    'post-usage': async (job) => {
      process.send?.(job.id);
      await new Promise(() => undefined);
    },
  },
});
