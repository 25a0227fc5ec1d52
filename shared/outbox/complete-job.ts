import type { Kysely } from 'kysely';
import type { Database } from '../database/schema.ts';

/**
 * Removes a job's row. Call it in the transaction of the job's effect: then the effect is there exactly when the
 * row is gone. The row of a job that was delivered twice may be gone already.
 */
export async function completeJob(db: Kysely<Database>, jobId: string): Promise<void> {
  await db.deleteFrom('outbox').where('id', '=', jobId).execute();
}
