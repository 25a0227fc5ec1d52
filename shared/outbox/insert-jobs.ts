import { type Kysely, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import { JOB_TYPES, type JobName, type JobPayload } from '../queues/job-types.ts';

export type NewJob = {
  [N in JobName]: {
    readonly name: N;
    readonly payload: JobPayload<N>;
    /** 0 (default) goes before all others; from 1 on, lower goes first. */
    readonly priority?: number;
    /** The request that causes the job; it appears in the job's log lines. */
    readonly requestId?: string | undefined;
    /** The job is not run before. */
    readonly notBefore?: Date;
  };
}[JobName];

/**
 * Records jobs in the transaction that makes them necessary. Kick the relay after the commit; if nobody does, they
 * are published within seconds all the same.
 *
 * @returns the jobs' ids, in order
 */
export async function insertJobs(db: Kysely<Database>, jobs: readonly NewJob[]): Promise<string[]> {
  if (jobs.length === 0) return [];
  const rows = await db
    .insertInto('outbox')
    .values(
      jobs.map((job) => ({
        id: crypto.randomUUID(),
        queue: JOB_TYPES[job.name].queue,
        name: job.name,
        payload: JSON.stringify(job.payload),
        priority: job.priority ?? 0,
        request_id: job.requestId ?? null,
        not_before: job.notBefore ?? null,
        publish_after: sql<Date>`now()`,
      })),
    )
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}
