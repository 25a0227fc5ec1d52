import type { Db } from '@stowage/shared/database/open-database.ts';
import type { QueueName } from '@stowage/shared/queues/job-types.ts';
import { retryFailedRenders } from '@stowage/shared/renders/retry-failed-renders.ts';
import { sql } from 'kysely';
import { includesPictures } from './failed-jobs.ts';

export interface Requeued {
  /** The jobs that failed and are replaced by new ones. */
  readonly replaced: readonly { readonly id: string; readonly queue: string }[];
  /** Pictures whose thumbnails are made anew. */
  readonly pictures: number;
}

/**
 * Makes a new job of each that failed for good: a new id, because BullMQ ignores one that it has seen fail. Given-up
 * pictures get a job each, with all their attempts. The relays of the running processes publish them within seconds.
 */
export async function requeueFailed(db: Db, queue: QueueName | undefined): Promise<Requeued> {
  // Insert and delete are one statement: a job is neither lost nor doubled, whatever happens to this process. It
  // keeps its time for later, and loses the age that the backlog is measured by.
  const { rows: replaced } = await sql<{ id: string; queue: string }>`
    WITH failed AS (
      DELETE FROM outbox WHERE failed_at IS NOT NULL AND queue = coalesce(${queue ?? null}, queue)
      RETURNING id, queue, name, payload, priority, request_id, not_before
    ), renewed AS (
      INSERT INTO outbox (queue, name, payload, priority, request_id, not_before)
      SELECT queue, name, payload, priority, request_id, not_before FROM failed
    )
    SELECT id, queue FROM failed`.execute(db);
  return { replaced, pictures: includesPictures(queue) ? await retryFailedRenders(db) : 0 };
}
