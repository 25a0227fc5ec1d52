import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { completeJob } from '../outbox/complete-job.ts';

export interface FailedRender {
  readonly jobId: string;
  readonly fileId: string;
  /** What `failureText` gives. */
  readonly reason: string;
}

/**
 * Gives a picture up, with the reason on its row. That is the job's effect, so the job is done;
 * `npm run requeue -- --failed` tries again.
 */
export async function failRender(db: Db, { jobId, fileId, reason }: FailedRender): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`
      WITH failed AS (
        UPDATE files SET render_state = 'failed', render_error = ${reason}
        WHERE id = ${fileId}::uuid AND state = 'stored' AND render_state = 'pending'
        RETURNING user_id
      )
      UPDATE quotas q SET renders_outstanding = greatest(q.renders_outstanding - 1, 0)
      FROM failed WHERE q.user_id = failed.user_id`.execute(trx);
    await completeJob(trx, jobId);
  });
}
