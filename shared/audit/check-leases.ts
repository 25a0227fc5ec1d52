import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { CheckDeps } from './audit-deps.ts';
import type { Violation } from './findings.ts';

/** Rows of one kind that are listed one by one; more are counted. */
const MOST_LISTED = 10_000;

interface Check {
  /** All rows that the check is about. */
  readonly among: RawBuilder<unknown>;
  /** Those that are stuck, as `id` and `fault`. */
  readonly stuck: RawBuilder<unknown>;
  readonly violation: (id: string) => Pick<Violation, 'subject' | 'remedy'>;
}

/**
 * I3 in the database: no upload outlives its lease, no job waits for a relay, and no deletion, charge or refund has
 * lost its job, by more than one sweep.
 */
export async function checkLeases(snapshot: Db, deps: CheckDeps): Promise<void> {
  const { book, report } = deps;
  for (const { among, stuck, violation } of checks(deps)) {
    const counted = await sql<{
      rows: number;
    }>`SELECT count(*)::int8 AS rows FROM (${among}) AS among`.execute(snapshot);
    book.checked('I3', counted.rows[0]?.rows ?? 0);
    const { rows } = await sql<{ id: string; fault: string; total: number }>`
      SELECT *, count(*) OVER ()::int4 AS total FROM (${stuck}) AS stuck LIMIT ${MOST_LISTED}`.execute(
      snapshot,
    );
    book.violatedBeyond('I3', (rows[0]?.total ?? 0) - rows.length);
    await report(rows.map(({ id, fault }) => ({ invariant: 'I3', fault, ...violation(id) })));
  }
}

function checks({ windows: { sweepMs, secondPassMs } }: CheckDeps): Check[] {
  return [uploads(sweepMs, secondPassMs), jobs(sweepMs), deletions(sweepMs), postings(sweepMs)];
}

function uploads(sweepMs: number, secondPassMs: number): Check {
  return {
    among: sql`SELECT FROM uploads`,
    stuck: sql`
      SELECT id, CASE state
        WHEN 'open' THEN 'its lease ended at ' || lease_until
        WHEN 'abandoned' THEN 'was given up at ' || lease_until || ' and not swept'
        ELSE 'is being swept since ' || coalesce(swept_at, lease_until) END AS fault
      FROM uploads
      WHERE (state <> 'sweeping' AND lease_until < ${ago(sweepMs)})
        OR (state = 'sweeping' AND swept_at IS NULL AND lease_until < ${ago(2 * sweepMs)})
        OR (state = 'sweeping' AND swept_at < ${ago(secondPassMs + sweepMs)})`,
    violation: (id) => ({ subject: `upload ${id}`, remedy: { kind: 'sweep-uploads' } }),
  };
}

function jobs(sweepMs: number): Check {
  return {
    among: sql`SELECT FROM outbox WHERE failed_at IS NULL`,
    stuck: sql`
      SELECT id, name || ' is due since ' || publish_after || ' and was not published' AS fault FROM outbox
      WHERE failed_at IS NULL AND publish_after < ${ago(sweepMs)}`,
    // The relay of any process publishes it. If none does, none runs.
    violation: (id) => ({ subject: `job ${id}` }),
  };
}

function deletions(sweepMs: number): Check {
  return {
    among: sql`SELECT FROM files WHERE state = 'deleting'`,
    stuck: sql`
      SELECT f.id, 'was deleted at ' || f.deleted_at || ' and has no job' AS fault FROM files f
      WHERE f.state = 'deleting' AND coalesce(f.deleted_at, f.created_at) < ${ago(sweepMs)} AND NOT EXISTS (
        SELECT FROM outbox o WHERE o.name = 'delete-file' AND o.payload->>'fileId' = f.id::text)`,
    violation: (id) => ({ subject: `file ${id}`, remedy: { kind: 'requeue-deletions' } }),
  };
}

function postings(sweepMs: number): Check {
  const waiting = sql`
    SELECT user_id, created_at AS since FROM files WHERE posted_at IS NULL
    UNION ALL SELECT user_id, refunded_at FROM files WHERE refunded_at IS NOT NULL AND refund_posted_at IS NULL
    UNION ALL SELECT user_id, created_at FROM quota_adjustments WHERE posted_at IS NULL`;
  return {
    among: sql`SELECT FROM (${waiting}) AS waiting GROUP BY user_id`,
    stuck: sql`
      SELECT user_id AS id, 'has usage to post since ' || min(since) || ' and no job' AS fault
      FROM (${waiting}) AS waiting
      WHERE NOT EXISTS (
        SELECT FROM outbox o WHERE o.name = 'post-usage' AND o.payload->>'userId' = waiting.user_id::text)
      GROUP BY user_id HAVING min(since) < ${ago(sweepMs)}`,
    violation: (id) => ({ subject: `user ${id}`, remedy: { kind: 'requeue-postings' } }),
  };
}

function ago(ms: number): RawBuilder<Date> {
  return sql<Date>`now() - ${ms}::float8 * interval '1 millisecond'`;
}
