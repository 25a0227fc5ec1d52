import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { JOB_TYPES } from '../queues/job-types.ts';
import { isJobName } from '../queues/parse-payload.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import type { CheckDeps } from './audit-deps.ts';

const PAGE = 1_000;
/** Jobs that were not found and are looked for again; that many are enough to know. */
const MOST_SUSPECTS = 10_000;
/** Questions that a queue is asked at once. On Redis they travel together. */
const AT_ONCE = 100;

interface PublishedJob {
  readonly id: string;
  readonly name: string;
}

/**
 * I3 in the queue: every open job that was published is there. A queue that has lost everything is filled again
 * by the relays at once, so what is missing is looked for a second time after that.
 */
export async function checkQueues({ db, backend, windows, report, signal }: CheckDeps): Promise<void> {
  const suspects: PublishedJob[] = [];
  for await (const page of publishedJobs(db, signal)) {
    suspects.push(...(await missingOf(backend, page)));
    if (suspects.length >= MOST_SUSPECTS) break;
  }
  if (suspects.length === 0) return;
  await sleep(windows.refillMs, undefined, { signal });
  for (let from = 0; from < suspects.length; from += PAGE) {
    signal.throwIfAborted();
    const stillMissing = await missingOf(backend, suspects.slice(from, from + PAGE));
    // Only now: a job that ends takes its row with it first.
    const lost = await stillPublished(db, stillMissing);
    await report(
      lost.map(({ id, name }) => ({
        invariant: 'I3',
        subject: `job ${id}`,
        fault: `${name} was published and is not in the queue`,
        remedy: { kind: 'publish-again', jobId: id },
      })),
    );
  }
}

/** Rows are read a page at a time, each page as it is now: what ends meanwhile is not looked for. */
async function* publishedJobs(db: Db, signal: AbortSignal): AsyncGenerator<PublishedJob[]> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (let page: PublishedJob[] = []; ; after = page.at(-1)?.id ?? after) {
    signal.throwIfAborted();
    page = (
      await sql<PublishedJob>`
        SELECT id, name FROM outbox
        WHERE id > ${after}::uuid AND failed_at IS NULL AND publishes > 0 AND publish_after > now()
        ORDER BY id LIMIT ${PAGE}`.execute(db)
    ).rows;
    if (page.length === 0) return;
    yield page;
  }
}

async function stillPublished(db: Db, jobs: readonly PublishedJob[]): Promise<PublishedJob[]> {
  const { rows } = await sql<PublishedJob>`
    SELECT id, name FROM outbox
    WHERE id = ANY(${jobs.map((job) => job.id)}::uuid[]) AND failed_at IS NULL AND publishes > 0
      AND publish_after > now()`.execute(db);
  return rows;
}

async function missingOf(backend: QueueBackend, jobs: readonly PublishedJob[]): Promise<PublishedJob[]> {
  const missing: PublishedJob[] = [];
  for (let from = 0; from < jobs.length; from += AT_ONCE) {
    const some = jobs.slice(from, from + AT_ONCE);
    const states = await Promise.all(some.map((job) => stateOf(backend, job)));
    missing.push(...some.filter((_, n) => states[n] === 'unknown'));
  }
  return missing;
}

async function stateOf(backend: QueueBackend, { id, name }: PublishedJob): Promise<string> {
  // A name that nobody knows cannot be published; its row is overdue before long, and reported as that.
  return isJobName(name) ? await backend.queue(JOB_TYPES[name].queue).getJobState(id) : 'never published';
}
