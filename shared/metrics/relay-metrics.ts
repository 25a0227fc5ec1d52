import { Counter, type Registry } from '@prometheus-io/client';

export interface RelayMetrics {
  published(queue: string, count: number): void;
  publishFailed(queue: string): void;
  queueRefilled(queue: string): void;
}

/** What the outbox relay of this process did. */
export function createRelayMetrics(registry: Registry): RelayMetrics {
  const published = new Counter({
    name: 'stowage_outbox_published_total',
    help: 'Outbox rows given to their queue, including those published again.',
    labelNames: ['queue'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'stowage_outbox_publish_failures_total',
    help: 'Batches of outbox rows that could not be given to their queue.',
    labelNames: ['queue'],
    registers: [registry],
  });
  const refills = new Counter({
    name: 'stowage_outbox_refills_total',
    help: 'Times a queue was found to have lost its jobs and was refilled.',
    labelNames: ['queue'],
    registers: [registry],
  });
  return {
    published: (queue, count) => published.inc({ queue }, count),
    publishFailed: (queue) => failures.inc({ queue }),
    queueRefilled: (queue) => refills.inc({ queue }),
  };
}
