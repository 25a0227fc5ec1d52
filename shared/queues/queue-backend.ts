import type { Job as BullJob, IQueueBackend, Queue } from 'bullmq';
import type { QueueName } from './job-types.ts';

/** What travels in BullMQ: the payload of the outbox row, and the request that caused it. */
export interface JobEnvelope {
  readonly payload: unknown;
  readonly requestId: string | null;
}

export type DeliveredJob = BullJob<JobEnvelope, void, string>;

/** A BullMQ queue on either backend. The connection type differs between the two and is of no use outside. */
export type JobQueue = Queue<JobEnvelope, void, string, JobEnvelope, void, string, IQueueBackend, unknown>;

/** The part of a BullMQ worker that is used outside of its backend. */
export interface BullWorker {
  on(event: 'lockRenewalFailed', listener: (jobIds: string[]) => void): unknown;
  on(event: 'stalled', listener: (jobId: string) => void): unknown;
  waitUntilReady(): Promise<void>;
  /** Takes no more jobs and waits for those that run. */
  close(): Promise<void>;
  /** Cuts the connections: for when the backend is away and `close` would wait for it. */
  disconnect(): Promise<void>;
}

export interface WorkerSettings {
  /** Jobs that run at once in this process. */
  readonly concurrency: number;
  /** How long a job stays this worker's without a sign of life, ms. Default 20,000. */
  readonly lockDurationMs?: number;
  /** How often jobs of dead workers are looked for, ms. Default 10,000. */
  readonly stalledIntervalMs?: number;
}

export type Processor = (job: DeliveredJob, token: string) => Promise<void>;

/** BullMQ on Postgres or on Redis. Connections are opened on first use and come back by themselves. */
export interface QueueBackend {
  readonly kind: 'postgres' | 'redis';

  /** The queue, for publishing and for looking at it. Calls fail within seconds when the backend is away. */
  queue(name: QueueName): JobQueue;

  /** Starts a worker. Whoever starts it closes it, before this backend. */
  worker(name: QueueName, processor: Processor, settings: WorkerSettings): BullWorker;

  /**
   * Resolves when the backend answers.
   * @throws {AppError} QUEUE_UNAVAILABLE
   */
  check(signal: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
