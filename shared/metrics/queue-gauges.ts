import { Gauge, type Registry } from '@prometheus-io/client';

/** One look at one queue. */
export interface QueueReading {
  readonly queue: string;
  /** Jobs by state: waiting, prioritized, active, delayed, failed, and unpublished (still only in the outbox). */
  readonly jobs: Readonly<Record<string, number>>;
  readonly oldestWaitingSeconds: number;
  readonly outboxOpen: number;
  readonly outboxFailed: number;
  readonly outboxOldestSeconds: number;
}

export interface QueueGauges {
  /** Replaces what is shown. Nothing at all is shown for no readings: better than what was true some time ago. */
  show(readings: readonly QueueReading[]): void;
}

/** What waits in the queues and in the outbox. It is the same for all processes, so only one of them shows it. */
export function createQueueGauges(registry: Registry): QueueGauges {
  const registers = [registry];
  const jobs = new Gauge({
    name: 'stowage_queue_jobs',
    help: 'Jobs by queue and state. unpublished: recorded, and not yet given to the queue.',
    labelNames: ['queue', 'state'],
    registers,
  });
  const oldestWaiting = new Gauge({
    name: 'stowage_queue_oldest_waiting_seconds',
    help: 'How long the oldest job that could run has been waiting, wherever it is; 0 when none waits.',
    labelNames: ['queue'],
    registers,
  });
  const outboxRows = new Gauge({
    name: 'stowage_outbox_rows',
    help: 'Outbox rows by queue and state: open (the effect is to come) or failed (for good).',
    labelNames: ['queue', 'state'],
    registers,
  });
  const outboxOldest = new Gauge({
    name: 'stowage_outbox_oldest_seconds',
    help: 'Age of the oldest open outbox row, also while its job runs or is for later; 0 when there is none.',
    labelNames: ['queue'],
    registers,
  });
  return {
    show(readings) {
      for (const gauge of [jobs, oldestWaiting, outboxRows, outboxOldest]) gauge.reset();
      for (const { queue, ...reading } of readings) {
        for (const [state, count] of Object.entries(reading.jobs)) jobs.set({ queue, state }, count);
        oldestWaiting.set({ queue }, reading.oldestWaitingSeconds);
        outboxRows.set({ queue, state: 'open' }, reading.outboxOpen);
        outboxRows.set({ queue, state: 'failed' }, reading.outboxFailed);
        outboxOldest.set({ queue }, reading.outboxOldestSeconds);
      }
    },
  };
}
