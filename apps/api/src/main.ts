import { availableParallelism } from 'node:os';
import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { createQueueGauges } from '@stowage/shared/metrics/queue-gauges.ts';
import { dependencyChecks } from '@stowage/shared/ops/dependency-checks.ts';
import { openOpsServer } from '@stowage/shared/ops/ops-server.ts';
import { startQueueGauges } from '@stowage/shared/ops/start-queue-gauges.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import {
  openProcessDatabase,
  openProcessObjectStore,
  openProcessQueues,
} from '@stowage/shared/process/open-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { ensureAdministrator } from './accounts/ensure-administrator.ts';
import { createPasswords } from './accounts/passwords.ts';
import { createSigningKeys } from './accounts/signing-keys.ts';
import { buildApp } from './app.ts';
import { DATABASE_PATIENCE } from './database-patience.ts';
import { stopServer } from './http/stop-server.ts';
import { createThrottles, NO_THROTTLES } from './http/throttles.ts';
import { openThrottlesStore } from './http/throttles-store.ts';
import { addQueueDashboard } from './ops/queue-dashboard.ts';

const NAME = 'api';
/** One picture in a request: readers give up long before workers do. */
const RENDER_DEADLINE_MS = 20_000;

await runProcess(NAME, async (process) => {
  const { config, logger, timings, stopping, onClose } = process;
  const db = openProcessDatabase(process, NAME, DATABASE_PATIENCE);
  const backend = openProcessQueues(process);
  const objects = openProcessObjectStore(process);
  const metrics = createMetrics(NAME);

  let listening = false;
  const isListening = async () => {
    if (!listening) throw new Error('requests are not answered yet');
  };
  const ops = await openOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    logger,
    metrics,
    stopping,
    checks: [
      ...dependencyChecks({ db, backend, objectStore: objects }),
      { name: 'http', check: isListening },
    ],
    extend: (app) => addQueueDashboard(app, backend),
  });
  onClose('ops port', () => ops.close());

  const gauges = startQueueGauges({ db, backend, logger, gauges: createQueueGauges(metrics.registry) });
  onClose('queue gauges', () => gauges.close());

  const relay = createRelay({ db, backend, logger, metrics, ...timings.relay });
  onClose('relay', () => relay.close());
  relay.start();

  const renderPool = createRenderPool({
    children: availableParallelism(),
    deadlineMs: RENDER_DEADLINE_MS,
    maxInputPixels: config.maxInputPixels,
    logger,
    onRendered: (outcome, seconds) => metrics.renders.rendered('request', outcome, seconds),
  });
  onClose('render children', () => renderPool.close());

  const throttlesStore = openThrottlesStore(
    config.redisUrl === undefined ? { kind: 'postgres', db } : { kind: 'redis', url: config.redisUrl },
    logger,
  );
  onClose('throttles', () => throttlesStore.close());
  const production = config.nodeEnv === 'production';
  const throttles = config.rateLimits ? createThrottles({ store: throttlesStore, production }) : NO_THROTTLES;

  const passwords = createPasswords({ cost: config.bcryptCost, blocklist: config.passwordBlocklist });
  const { adminEmail: email, adminPassword: password, defaultMaxQuotaBytes } = config;
  if (email !== undefined && password !== undefined) {
    const outcome = await ensureAdministrator({ db, passwords, defaultMaxQuotaBytes }, { email, password });
    logger.info({ outcome }, 'administrator of the configuration');
  }

  const shutdown = new AbortController();
  const app = await buildApp({
    db,
    objects,
    renderPool,
    signingKeys: createSigningKeys({ db, secretKey: config.secretKey, logger }),
    passwords,
    throttles,
    metrics,
    logger,
    relayKick: relay.kick,
    shutdown: shutdown.signal,
    settings: { ...config, version: manifest.version, timings: timings.uploads ?? {} },
  });
  onClose('http', () =>
    stopServer(app, {
      connections: app.connections,
      shutdown,
      drainMs: config.shutdownDrainSeconds * 1_000,
      graceMs: config.shutdownGraceSeconds * 1_000,
    }),
  );
  await renderPool.warm();
  await app.listen({ host: config.host, port: config.port });
  listening = true;
});
