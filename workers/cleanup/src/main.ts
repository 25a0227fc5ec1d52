import { readLastAudit } from '@stowage/shared/audit/audit-record.ts';
import { openAuditDatabase } from '@stowage/shared/audit/open-audit-database.ts';
import { createAuditGauges } from '@stowage/shared/metrics/audit-gauges.ts';
import { openProcessObjectStore } from '@stowage/shared/process/open-services.ts';
import { openWorkerServices } from '@stowage/shared/process/open-worker-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { openCleanupWorker } from './worker.ts';

const NAME = 'worker-cleanup';

await runProcess(NAME, async (process) => {
  const { config, logger, timings, onClose } = process;
  const store = openProcessObjectStore(process);
  const auditDb = openAuditDatabase(config.databaseUrl, (error) =>
    logger.warn({ err: error }, 'a database connection was lost'),
  );
  onClose('audit database', () => auditDb.destroy());
  const services = await openWorkerServices(process, NAME, store);
  createAuditGauges(services.metrics.registry, () => readLastAudit(services.db));

  const worker = openCleanupWorker({
    ...services,
    auditDb,
    store,
    thumbnailWidths: config.thumbnailWidths,
    concurrency: config.cleanupConcurrency,
    ...timings.cleanup,
  });
  onClose('worker', () => worker.close());
});
