import { AppError } from '@stowage/shared/errors/app-error.ts';

export interface RenderAdmissionOptions {
  /** Most renders at once: the number of processor cores. */
  readonly slots: number;
  /** Most renders at once for one client address. */
  readonly slotsPerClient?: number;
  /**
   * Most that wait for a slot; one client address may take half of it. Default: four for each slot, so that on two
   * cores a browser's six connections fit (two render, four wait) and nobody waits for more than four renders.
   */
  readonly queueLength?: number;
  /** ms after which one that waits is turned away. */
  readonly maxWaitMs?: number;
}

interface Waiting {
  readonly client: string;
  readonly admit: () => void;
  readonly refuse: () => void;
}

const RETRY_AFTER_SECONDS = 5;

/**
 * Bounds the renders that readers cause: so many at once, so many for each client address, a short queue, and
 * beyond it OVERLOADED. First come, first served, except that clients with fewer renders under way go first: one
 * that asks for many must not keep the others waiting for all of them.
 *
 * When more comes than can be rendered somebody has to be refused. It is whoever waits longest, and the newest goes
 * first: those who are served get their picture at once, instead of all of them after the whole queue.
 */
export class RenderAdmission {
  readonly #slots: number;
  readonly #slotsPerClient: number;
  readonly #queueLength: number;
  readonly #maxWaitMs: number;
  readonly #running = new Map<string, number>();
  #runningInAll = 0;
  #queue: Waiting[] = [];

  constructor(options: RenderAdmissionOptions) {
    this.#slots = options.slots;
    this.#slotsPerClient = options.slotsPerClient ?? 2;
    this.#queueLength = options.queueLength ?? 4 * options.slots;
    this.#maxWaitMs = options.maxWaitMs ?? 10_000;
  }

  /**
   * Runs the work when there is room for it.
   * @param signal aborting it leaves the queue; work that has begun is not touched
   * @throws AppError OVERLOADED
   */
  async run<T>(client: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#hasRoomFor(client)) this.#enter(client);
    else await this.#wait(client, signal);
    try {
      return await work();
    } finally {
      this.#leave(client);
    }
  }

  #hasRoomFor(client: string): boolean {
    return this.#runningInAll < this.#slots && this.#runningOf(client) < this.#slotsPerClient;
  }

  #enter(client: string): void {
    this.#runningInAll += 1;
    this.#running.set(client, this.#runningOf(client) + 1);
  }

  #leave(client: string): void {
    this.#runningInAll -= 1;
    const left = this.#runningOf(client) - 1;
    if (left > 0) this.#running.set(client, left);
    else this.#running.delete(client);
    this.#next()?.admit();
  }

  /** Of those for whom there is room the first (the newest under overload) of whose client has the fewest under way. */
  #next(): Waiting | undefined {
    const isOverloaded = this.#queue.length >= this.#queueLength;
    let next: Waiting | undefined;
    for (const waiting of isOverloaded ? this.#queue.toReversed() : this.#queue) {
      if (!this.#hasRoomFor(waiting.client)) continue;
      if (next === undefined || this.#runningOf(waiting.client) < this.#runningOf(next.client))
        next = waiting;
    }
    return next;
  }

  #runningOf(client: string): number {
    return this.#running.get(client) ?? 0;
  }

  /** Resolves when the caller has been entered. */
  #wait(client: string, signal: AbortSignal): Promise<void> {
    const ofClient = this.#queue.filter((waiting) => waiting.client === client).length;
    if (ofClient >= this.#queueLength / 2) throw overloaded();
    if (this.#queue.length >= this.#queueLength) this.#queue[0]?.refuse();
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#queue = this.#queue.filter((waiting) => waiting !== entry);
      };
      const giveUp = () => {
        stopWaiting();
        reject(signal.reason);
      };
      const refuse = () => {
        stopWaiting();
        reject(overloaded());
      };
      const timer = setTimeout(refuse, this.#maxWaitMs);
      const entry: Waiting = {
        client,
        refuse,
        admit: () => {
          stopWaiting();
          // Entered here, so that nobody takes the room before the caller runs again.
          this.#enter(client);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#queue.push(entry);
    });
  }
}

function overloaded(): AppError {
  return new AppError('OVERLOADED', 'Too many thumbnails are being rendered right now. Try again shortly.', {
    details: { retry_after_seconds: RETRY_AFTER_SECONDS },
  });
}
