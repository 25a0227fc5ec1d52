import type { Logger } from 'pino';
import { openPostgresQueues } from './postgres-queues.ts';
import type { QueueBackend } from './queue-backend.ts';
import { openRedisQueues } from './redis-queues.ts';

export type QueueBackendOptions =
  | {
      readonly kind: 'postgres';
      readonly databaseUrl: string;
      /** The schema of BullMQ's tables. Default `bullmq`. */
      readonly schema?: string;
    }
  | {
      readonly kind: 'redis';
      readonly url: string;
      /** What all keys begin with; instances that share a Redis database need different ones. Default `stowage`. */
      readonly prefix?: string;
      /** How long a connection may owe an answer before it is replaced, ms. Default 15,000. */
      readonly silenceMs?: number;
    };

/** Opens the queues on the backend that is configured. It does not wait for the backend to be there. */
export function openQueueBackend(options: QueueBackendOptions, logger: Logger): QueueBackend {
  return options.kind === 'postgres' ? openPostgresQueues(options, logger) : openRedisQueues(options, logger);
}
