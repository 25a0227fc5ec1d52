import type { Db } from '@stowage/shared/database/open-database.ts';
import { forgetFile } from '@stowage/shared/deletions/forget-file.ts';
import { refundFile } from '@stowage/shared/deletions/refund-file.ts';
import { faultPoint } from '@stowage/shared/faults/fault-points.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import type { Job } from '@stowage/shared/queues/job.ts';
import { sql } from 'kysely';
import { removeVariants } from './remove-variants.ts';

export interface DeleteFileDeps {
  readonly db: Db;
  readonly store: Pick<ObjectStore, 'delete' | 'list' | 'dropUnfinished'>;
  /** How long after the refund the second pass follows, for writes that arrive late. Default 90 s. */
  readonly secondPassAfterMs?: number;
}

export type DeleteFileJob = Pick<Job<'delete-file'>, 'id' | 'payload' | 'requestId'>;

/**
 * Removes a deleted file's bytes in two passes. The first removes the original, refunds it, and removes the
 * variants. The second, a job of its own, removes once more what a render that was under way may have written, and
 * then the row. Each step may be repeated: a job that is cut short starts over.
 */
export async function deleteFile(deps: DeleteFileDeps, job: DeleteFileJob): Promise<void> {
  const { db, store, secondPassAfterMs = 90_000 } = deps;
  const { fileId } = job.payload;
  const file = await readDeletedFile(db, fileId, secondPassAfterMs);
  if (file === undefined) return await completeJob(db, job.id);

  // It resolves when the store has confirmed it: only then may the bytes be refunded.
  await store.delete([file.objectKey]);
  await faultPoint('deletion.original-removed');
  if (!file.refunded) await refundFile(db, { fileId, requestId: job.requestId });
  await faultPoint('deletion.refunded');
  await removeVariants(store, fileId);

  await db.transaction().execute(async (trx) => {
    const gone = file.secondPassDue && (await forgetFile(trx, fileId));
    if (!gone) {
      await trx.deleteFrom('variants').where('file_id', '=', fileId).execute();
      const notBefore = new Date(Date.now() + secondPassAfterMs);
      const payload = { v: 1, fileId } as const;
      await insertJobs(trx, [{ name: 'delete-file', payload, notBefore, requestId: job.requestId }]);
    }
    await completeJob(trx, job.id);
  });
}

async function readDeletedFile(db: Db, fileId: string, secondPassAfterMs: number) {
  return await db
    .selectFrom('files')
    .select([
      'object_key as objectKey',
      sql<boolean>`refunded_at IS NOT NULL`.as('refunded'),
      sql<boolean>`coalesce(refunded_at <= now() - ${secondPassAfterMs}::float8 * interval '1 millisecond', false)`.as(
        'secondPassDue',
      ),
    ])
    .where('id', '=', fileId)
    .where('state', '=', 'deleting')
    .executeTakeFirst();
}
