import type { Db } from '@stowage/shared/database/open-database.ts';
import type { QueueName } from '@stowage/shared/queues/job-types.ts';
import { sql } from 'kysely';

export interface FailedJob {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly failedAt: Date;
  readonly failure: string;
}

/** What failed for good, by queue. */
export interface Failures {
  readonly jobs: readonly FailedJob[];
  /** All of them, of which `jobs` are the newest. */
  readonly jobCount: number;
  /** Pictures whose thumbnails were given up. Their jobs are done, the reason is on the file. */
  readonly pictureCount: number;
}

/** Reads what failed, the newest `limit` jobs of it one by one. */
export async function readFailures(db: Db, queue: QueueName | undefined, limit: number): Promise<Failures> {
  const ofQueue = queue ?? null;
  const { rows: jobs } = await sql<FailedJob>`
    SELECT id, queue, name, failed_at AS "failedAt", failure FROM outbox
    WHERE failed_at IS NOT NULL AND queue = coalesce(${ofQueue}, queue)
    ORDER BY failed_at DESC LIMIT ${limit}`.execute(db);
  const { rows: counts } = await sql<{ jobs: number; pictures: number }>`
    SELECT
      (SELECT count(*) FROM outbox WHERE failed_at IS NOT NULL AND queue = coalesce(${ofQueue}, queue)) AS jobs,
      (SELECT count(*) FROM files WHERE render_state = 'failed' AND state = 'stored') AS pictures`.execute(
    db,
  );
  return {
    jobs,
    jobCount: counts[0]?.jobs ?? 0,
    pictureCount: includesPictures(queue) ? (counts[0]?.pictures ?? 0) : 0,
  };
}

export function includesPictures(queue: QueueName | undefined): boolean {
  return queue === undefined || queue === 'thumbnails';
}
