import { join } from 'node:path';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { dependencyChecks } from '@stowage/shared/ops/dependency-checks.ts';
import { openOpsServer } from '@stowage/shared/ops/ops-server.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import { openProcessDatabase, openProcessQueues } from '@stowage/shared/process/open-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { createMailer } from './mailer.ts';
import { openMailWorker } from './worker.ts';

const NAME = 'worker-mail';

await runProcess(NAME, async (process) => {
  const { config, logger, timings, stopping, onClose } = process;
  const db = openProcessDatabase(process, NAME);
  const backend = openProcessQueues(process);
  const metrics = createMetrics(NAME);

  const checks = dependencyChecks({ db, backend });
  const { opsHost: host, opsPort: port } = config;
  const ops = await openOpsServer({ host, port, logger, metrics, checks, stopping });
  onClose('ops port', () => ops.close());

  const relay = createRelay({ db, backend, logger, metrics, ...timings.relay });
  onClose('relay', () => relay.close());
  relay.start();

  const from = config.mailFrom;
  const mailer = createMailer(
    config.smtpUrl === undefined
      ? { kind: 'folder', folder: join(config.dataDir, 'mail'), from }
      : { kind: 'smtp', url: config.smtpUrl, from },
  );
  onClose('mailer', async () => mailer.close());

  const worker = openMailWorker({
    db,
    mailer,
    secretKey: config.secretKey,
    publicUrl: config.publicUrl,
    verifyUrl: config.verifyUrl,
    backend,
    logger,
    metrics,
    concurrency: config.mailConcurrency,
    graceMs: config.shutdownGraceSeconds * 1_000,
    ...timings.jobs,
  });
  onClose('worker', () => worker.close());
});
