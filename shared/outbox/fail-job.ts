import { type Kysely, sql } from 'kysely';
import type { Database } from '../database/schema.ts';

/** Long enough to say why, short enough for a table of failures. */
const LONGEST_REASON = 1_000;

/**
 * Records that a job failed for good, and why. It is not published again; `npm run requeue -- --failed` makes a
 * new job of it.
 */
export async function failJob(db: Kysely<Database>, jobId: string, reason: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ failed_at: sql<Date>`now()`, failure: reason.slice(0, LONGEST_REASON) })
    .where('id', '=', jobId)
    .where('failed_at', 'is', null)
    .execute();
}
