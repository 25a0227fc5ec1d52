import type { Db } from '@stowage/shared/database/open-database.ts';
import { faultPoint } from '@stowage/shared/faults/fault-points.ts';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import type { Job } from '@stowage/shared/queues/job.ts';
import { sql } from 'kysely';

export interface PostUsageDeps {
  readonly db: Db;
  /** Files, and adjustments, posted in one transaction. Default 500. */
  readonly batchSize?: number;
}

export type PostUsageJob = Pick<Job<'post-usage'>, 'id' | 'payload'>;

/**
 * Appends to the ledger what a user's charges, refunds and adjustments have not told it yet. The mark "posted" and
 * the entry are made in one transaction, so the books agree at every moment; the last batch takes the job's row
 * with it. Two of them at once wait for each other's rows and post each cause once. Returns the entries' number.
 */
export async function postUsage({ db, batchSize = 500 }: PostUsageDeps, job: PostUsageJob): Promise<number> {
  const { userId } = job.payload;
  let posted = 0;
  for (let done = false; !done; ) {
    done = await db.transaction().execute(async (trx) => {
      posted += await postBatch(trx, userId, batchSize);
      await lockJob(trx, job.id);
      if (await hasUnposted(trx, userId)) return false;
      await completeJob(trx, job.id);
      await faultPoint('posting.before-commit');
      return true;
    });
  }
  await faultPoint('posting.committed');
  return posted;
}

/** Rows are locked in the order of their ids, so that two postings never wait for each other in a circle. */
async function postBatch(trx: Db, userId: string, limit: number): Promise<number> {
  const { rows } = await sql<{ posted: number }>`
    WITH due_files AS (
      SELECT id, size_bytes, created_at, refunded_at, posted_at IS NULL AS charge,
        refunded_at IS NOT NULL AND refund_posted_at IS NULL AS refund
      FROM files
      WHERE id IN (
          (SELECT id FROM files WHERE user_id = ${userId}::uuid AND posted_at IS NULL LIMIT ${limit})
          UNION ALL
          (SELECT id FROM files WHERE user_id = ${userId}::uuid AND refunded_at IS NOT NULL
            AND refund_posted_at IS NULL LIMIT ${limit}))
        AND (posted_at IS NULL OR (refunded_at IS NOT NULL AND refund_posted_at IS NULL))
      ORDER BY id LIMIT ${limit} FOR NO KEY UPDATE
    ), due_adjustments AS (
      SELECT id, bytes, created_at FROM quota_adjustments
      WHERE user_id = ${userId}::uuid AND posted_at IS NULL
      ORDER BY id LIMIT ${limit} FOR NO KEY UPDATE
    ), posted_files AS (
      UPDATE files AS f
      SET posted_at = coalesce(f.posted_at, now()),
        refund_posted_at = CASE WHEN due.refund THEN now() ELSE f.refund_posted_at END
      FROM due_files AS due WHERE f.id = due.id
    ), posted_adjustments AS (
      UPDATE quota_adjustments AS a SET posted_at = now() FROM due_adjustments AS due WHERE a.id = due.id
    ), entries AS (
      INSERT INTO ledger_entries (user_id, kind, bytes, cause_id, occurred_at)
      SELECT ${userId}::uuid, kind, bytes, cause_id, occurred_at FROM (
        SELECT 'charge' AS kind, size_bytes AS bytes, id AS cause_id, created_at AS occurred_at
        FROM due_files WHERE charge
        UNION ALL
        SELECT 'refund', -size_bytes, id, refunded_at FROM due_files WHERE refund
        UNION ALL
        SELECT 'adjustment', bytes, id, created_at FROM due_adjustments
      ) AS due ORDER BY occurred_at
      ON CONFLICT (kind, cause_id) DO NOTHING
      RETURNING id
    )
    SELECT count(*)::int AS posted FROM entries`.execute(trx);
  return rows[0]?.posted ?? 0;
}

/**
 * An upload that finishes relies on this job when it finds its row, and holds the row until it is committed. So
 * from here on no upload can: one that comes later finds the row gone, and queues a job of its own.
 */
async function lockJob(trx: Db, jobId: string): Promise<void> {
  await trx.selectFrom('outbox').select('id').where('id', '=', jobId).forUpdate().execute();
}

/** Asked in the transaction, after the batch: it sees what was posted just now, and what was committed since. */
async function hasUnposted(trx: Db, userId: string): Promise<boolean> {
  const { rows } = await sql<{ unposted: boolean }>`
    SELECT EXISTS (SELECT FROM files WHERE user_id = ${userId}::uuid AND posted_at IS NULL)
      OR EXISTS (SELECT FROM files WHERE user_id = ${userId}::uuid AND refunded_at IS NOT NULL
        AND refund_posted_at IS NULL)
      OR EXISTS (SELECT FROM quota_adjustments WHERE user_id = ${userId}::uuid AND posted_at IS NULL)
      AS unposted`.execute(trx);
  return rows[0]?.unposted ?? false;
}
