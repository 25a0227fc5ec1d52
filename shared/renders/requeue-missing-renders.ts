import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { queueRenders } from './queue-renders.ts';

export interface RequeueMissingOptions {
  /** The set that this configuration asks for, as `renderedSet` gives it. */
  readonly renderedSet: string;
  /** Most files of one kind that one call queues. */
  readonly batchSize?: number;
  /** A pending file younger than this is left alone: its job may just be on its way, ms. */
  readonly graceMs?: number;
}

/** After the pictures of a user's first uploads, before those of a flood. */
const WAITED_FOR_PRIORITY = 1_000;
/** After everything that users wait for: see LOWEST_PRIORITY of finish-upload. */
const BACKGROUND_PRIORITY = 1_500_000;

/**
 * Queues what the queue does not know of: pending renders whose job is gone, and pictures that were rendered with
 * other widths or settings than today's. The second kind goes behind all uploads, in small batches, so that a
 * changed configuration does not flood the queue.
 *
 * @returns how many were queued; kick the relay when there are some
 */
export async function requeueMissingRenders(db: Db, options: RequeueMissingOptions): Promise<number> {
  const { renderedSet, batchSize = 200, graceMs = 300_000 } = options;
  const lost = await queueRenders(
    db,
    // EXCEPT reads each table once, whatever the statistics say; NOT EXISTS read the outbox anew for each file.
    sql`SELECT id::uuid FROM (
        SELECT id::text FROM files
        WHERE render_state = 'pending' AND state = 'stored'
          AND created_at < now() - ${graceMs} * interval '1 millisecond'
        EXCEPT
        SELECT payload->>'fileId' FROM outbox WHERE name = 'render-thumbnails' AND failed_at IS NULL
      ) AS lost
      LIMIT ${batchSize}`,
    WAITED_FOR_PRIORITY,
  );
  // Two ranges instead of one inequality: each is an index scan.
  const outdated = await queueRenders(
    db,
    sql`SELECT id FROM (
        (SELECT id FROM files WHERE render_state = 'rendered' AND state = 'stored' AND rendered_set < ${renderedSet}
          LIMIT ${batchSize})
        UNION ALL
        (SELECT id FROM files WHERE render_state = 'rendered' AND state = 'stored' AND rendered_set > ${renderedSet}
          LIMIT ${batchSize})
      ) AS outdated
      WHERE (
        SELECT count(*) FROM outbox
        WHERE name = 'render-thumbnails' AND priority = ${BACKGROUND_PRIORITY} AND failed_at IS NULL
      ) < ${batchSize}
      LIMIT ${batchSize}`,
    BACKGROUND_PRIORITY,
  );
  return lost + outdated;
}
