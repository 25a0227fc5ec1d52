import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { queueRenders } from './queue-renders.ts';

const BATCH_SIZE = 1_000;
/** After the pictures of a user's first uploads, before those of a flood. */
const PRIORITY = 1_000;

/**
 * Queues all pictures again that were given up, with all their attempts.
 * @returns how many; kick the relay when there are some
 */
export async function retryFailedRenders(db: Db): Promise<number> {
  let all = 0;
  for (;;) {
    const queued = await queueRenders(
      db,
      sql`SELECT id FROM files WHERE render_state = 'failed' AND state = 'stored' LIMIT ${BATCH_SIZE}`,
      PRIORITY,
    );
    all += queued;
    if (queued < BATCH_SIZE) return all;
  }
}
