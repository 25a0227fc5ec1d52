import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection, PostgresQueueBackend } from 'bullmq';

/** How long a worker rests after a failed claim, ms. */
const CLAIM_RETRY_MS = 1_000;

/** An idle worker looks for itself at least this often, s: a notification that is lost delays a job no longer. */
const LONGEST_WAIT_SECONDS = 10;

/**
 * BullMQ remembers the outcome of its first contact for ever: a process that is started while Postgres is away
 * would never publish or work again. Here a failed first contact is forgotten, and the next call tries anew.
 */
export class SteadyPostgresConnection extends PostgresConnection {
  override async waitUntilReady(): Promise<void> {
    try {
      await super.waitUntilReady();
    } catch (error) {
      Reflect.set(this, 'readyPromise', undefined);
      throw error;
    }
  }
}

/** BullMQ's worker retries at once after any error but a refused connection, which is a busy loop while Postgres restarts. */
export class SteadyPostgresBackend extends PostgresQueueBackend {
  override get maximumBlockTimeout(): number {
    return LONGEST_WAIT_SECONDS;
  }

  override async moveToActive(token: string, name?: string) {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await sleep(CLAIM_RETRY_MS);
      throw error;
    }
  }
}
