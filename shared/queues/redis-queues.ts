import { createRedisBackend, type IQueueBackend, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { AppError } from '../errors/app-error.ts';
import type { QueueName } from './job-types.ts';
import type { JobEnvelope, JobQueue, QueueBackend } from './queue-backend.ts';
import { withDeadline } from './with-deadline.ts';
import { EVENT_STREAM, workerOptions } from './worker-options.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 5_000;
const LONGEST_RECONNECT_MS = 2_000;

const reconnectAfterMs = (times: number) => Math.min(times * 100, LONGEST_RECONNECT_MS);

/** A connection that owes an answer for so long is dead without knowing it. The longest blocking command takes 10 s. */
const SILENCE_MS = 15_000;

/**
 * BullMQ on Redis. All queues of a process share one connection that fails at once while Redis is away: what they
 * publish is in the outbox, and waiting would only pile up. A worker has two of its own that wait.
 */
export function openRedisQueues(
  options: { url: string; prefix?: string; silenceMs?: number },
  logger: Logger,
): QueueBackend {
  const socketTimeout = options.silenceMs ?? SILENCE_MS;
  const shared = { connectTimeout: CONNECT_TIMEOUT_MS, keepAlive: 10_000, socketTimeout };
  const prefix = options.prefix ?? 'stowage';
  const producers = new Redis(options.url, {
    ...shared,
    retryStrategy: reconnectAfterMs,
    connectionName: 'stowage-queue',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  producers.on('error', (error) => logger.warn({ err: error }, 'queue connection failed'));

  const { Queue } = withBackend<IQueueBackend, unknown>((name, opts, kind) =>
    createRedisBackend(name, { ...opts, connection: producers }, kind),
  );
  const open = (name: QueueName): JobQueue => {
    const queue = new Queue<JobEnvelope, void, string>(name, {
      connection: 'shared',
      prefix,
      streams: EVENT_STREAM,
    });
    queue.on('error', (error) => logger.warn({ err: error, queue: name }, 'queue failed'));
    return queue;
  };
  const queues = new Map<QueueName, JobQueue>();

  return {
    kind: 'redis',

    queue(name) {
      const queue = queues.get(name) ?? open(name);
      queues.set(name, queue);
      return queue;
    },

    worker(name, processor, settings) {
      let givenUp = false;
      const connection = {
        ...shared,
        url: options.url,
        maxRetriesPerRequest: null,
        // BullMQ ends a connection by a command, which waits for ever while Redis is away.
        retryStrategy: (times: number) => (givenUp ? null : reconnectAfterMs(times)),
      };
      const { Worker } = withBackend<IQueueBackend, unknown>((queue, opts, kind) =>
        createRedisBackend(queue, { ...opts, connection }, kind),
      );
      const worker = new Worker<JobEnvelope, void, string>(
        name,
        (job, token) => processor(job, token ?? ''),
        { connection: 'own', prefix, ...workerOptions(settings) },
      );
      worker.on('error', (error) => logger.warn({ err: error, queue: name }, 'worker failed'));
      return {
        on: worker.on.bind(worker),
        waitUntilReady: () => worker.waitUntilReady(),
        close: () => worker.close(),
        disconnect() {
          givenUp = true;
          return worker.disconnect();
        },
      };
    },

    async check(signal) {
      try {
        await withDeadline(producers.ping(), signal);
      } catch (error) {
        throw new AppError('QUEUE_UNAVAILABLE', 'The queue does not answer.', { cause: error });
      }
    },

    async close() {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
      producers.disconnect();
    },
  };
}
