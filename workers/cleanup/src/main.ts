import { readLastAudit } from '@stowage/shared/audit/audit-record.ts';
import { openAuditDatabase } from '@stowage/shared/audit/open-audit-database.ts';
import { createAuditGauges } from '@stowage/shared/metrics/audit-gauges.ts';
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
import { openCleanupWorker } from './worker.ts';

const NAME = 'worker-cleanup';

await runProcess(NAME, async (process) => {
  const { config, logger, timings, stopping, onClose } = process;
  const db = openProcessDatabase(process, NAME);
  const auditDb = openAuditDatabase(config.databaseUrl, (error) =>
    logger.warn({ err: error }, 'a database connection was lost'),
  );
  onClose('audit database', () => auditDb.destroy());
  const backend = openProcessQueues(process);
  const store = openProcessObjectStore(process);
  const metrics = createMetrics(NAME);
  createAuditGauges(metrics.registry, () => readLastAudit(db));

  const checks = dependencyChecks({ db, backend, objectStore: store });
  const { opsHost: host, opsPort: port } = config;
  const ops = await openOpsServer({ host, port, logger, metrics, checks, stopping });
  onClose('ops port', () => ops.close());

  const relay = createRelay({ db, backend, logger, metrics, ...timings.relay });
  onClose('relay', () => relay.close());
  relay.start();

  const worker = openCleanupWorker({
    db,
    auditDb,
    backend,
    store,
    logger,
    metrics,
    relayKick: relay.kick,
    thumbnailWidths: config.thumbnailWidths,
    concurrency: config.cleanupConcurrency,
    graceMs: config.shutdownGraceSeconds * 1_000,
    ...timings.cleanup,
    ...timings.jobs,
  });
  onClose('worker', () => worker.close());
});
