import type { Db } from '../database/open-database.ts';
import type { Logger } from '../logging/create-logger.ts';
import { createMetrics, type Metrics } from '../metrics/create-metrics.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { dependencyChecks } from '../ops/dependency-checks.ts';
import { openOpsServer } from '../ops/ops-server.ts';
import { createRelay } from '../outbox/create-relay.ts';
import type { JobTimings } from '../queues/open-job-worker.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import { openProcessDatabase, openProcessQueues } from './open-services.ts';
import type { RunningProcess } from './run-process.ts';

/** What every worker process works with; made to be spread into the options of its worker. */
export interface WorkerServices extends JobTimings {
  readonly db: Db;
  readonly backend: QueueBackend;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
}

/**
 * Opens database, queues and ops port of a worker process, and starts its relay. They end with the process, after
 * what is registered later.
 *
 * @param store where the process keeps bytes, for it to be ready only while that answers
 */
export async function openWorkerServices(
  process: RunningProcess,
  name: string,
  store?: ObjectStore,
): Promise<WorkerServices> {
  const { config, logger, timings, stopping, onClose } = process;
  const db = openProcessDatabase(process, name);
  const backend = openProcessQueues(process);
  const metrics = createMetrics(name);

  const checks = dependencyChecks({ db, backend, ...(store && { objectStore: store }) });
  const { opsHost: host, opsPort: port } = config;
  const ops = await openOpsServer({ host, port, logger, metrics, checks, stopping });
  onClose('ops port', () => ops.close());

  const relay = createRelay({ db, backend, logger, metrics, ...timings.relay });
  onClose('relay', () => relay.close());
  relay.start();

  const graceMs = config.shutdownGraceSeconds * 1_000;
  return { db, backend, logger, metrics, relayKick: relay.kick, graceMs, ...timings.jobs };
}
