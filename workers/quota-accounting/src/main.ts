import { openWorkerServices } from '@stowage/shared/process/open-worker-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { openQuotaAccountingWorker } from './worker.ts';

const NAME = 'worker-quota-accounting';

await runProcess(NAME, async (process) => {
  const worker = openQuotaAccountingWorker({
    ...(await openWorkerServices(process, NAME)),
    concurrency: process.config.quotaAccountingConcurrency,
  });
  process.onClose('worker', () => worker.close());
});
