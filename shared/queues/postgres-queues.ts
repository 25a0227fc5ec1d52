import { type IQueueBackend, type PostgresPoolConfig, withBackend } from 'bullmq';
import type { Logger } from 'pino';
import { AppError } from '../errors/app-error.ts';
import type { QueueName } from './job-types.ts';
import type { JobEnvelope, JobQueue, QueueBackend } from './queue-backend.ts';
import { SteadyPostgresBackend, SteadyPostgresConnection } from './steady-postgres.ts';
import { withDeadline } from './with-deadline.ts';
import { EVENT_STREAM, workerOptions } from './worker-options.ts';

/**
 * Connections: all queues of a process share PRODUCER_CONNECTIONS; each worker has WORKER_CONNECTIONS and one
 * that listens. A worker process with one queue holds at most 5, the API 2.
 */
const PRODUCER_CONNECTIONS = 2;
const WORKER_CONNECTIONS = 2;

const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 5_000;

/** BullMQ on Postgres: the tables of the schema `bullmq`, see migrateQueue. */
export function openPostgresQueues(
  options: { databaseUrl: string; schema?: string },
  logger: Logger,
): QueueBackend {
  const connection = (max: number): PostgresPoolConfig => ({
    connectionString: options.databaseUrl,
    schema: options.schema ?? 'bullmq',
    max,
    application_name: 'stowage-queue',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 500,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  });

  const producers = new SteadyPostgresConnection(connection(PRODUCER_CONNECTIONS));
  producers.on('error', (error: Error) => logger.warn({ err: error }, 'queue connection failed'));

  const { Queue } = withBackend<IQueueBackend, unknown>(
    (name, opts) =>
      new SteadyPostgresBackend(producers, name, { ...opts, connection: producers.pool }, false),
  );
  const { Worker } = withBackend<IQueueBackend, unknown>((name, opts) => {
    const own = connection(WORKER_CONNECTIONS);
    return new SteadyPostgresBackend(
      new SteadyPostgresConnection(own),
      name,
      { ...opts, connection: own },
      true,
      name,
    );
  });

  const open = (name: QueueName): JobQueue => {
    const queue = new Queue<JobEnvelope, void, string>(name, { connection: 'shared', streams: EVENT_STREAM });
    queue.on('error', (error) => logger.warn({ err: error, queue: name }, 'queue failed'));
    return queue;
  };
  const queues = new Map<QueueName, JobQueue>();

  return {
    kind: 'postgres',

    queue(name) {
      const queue = queues.get(name) ?? open(name);
      queues.set(name, queue);
      return queue;
    },

    worker(name, processor, settings) {
      const worker = new Worker<JobEnvelope, void, string>(
        name,
        (job, token) => processor(job, token ?? ''),
        { connection: 'own', ...workerOptions(settings) },
      );
      worker.on('error', (error) => logger.warn({ err: error, queue: name }, 'worker failed'));
      return worker;
    },

    async check(signal) {
      try {
        await withDeadline(
          producers.waitUntilReady().then(() => producers.pool.query('SELECT 1')),
          signal,
        );
      } catch (error) {
        throw new AppError('QUEUE_UNAVAILABLE', 'The queue does not answer.', { cause: error });
      }
    },

    async close() {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
      await producers.close();
    },
  };
}
