import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/** A user's quota row beside what it must agree with, in bytes. */
export interface Books {
  readonly userId: string;
  readonly hasQuota: boolean;
  readonly stored: number;
  readonly adjustment: number;
  readonly reserved: number;
  readonly renders: number;
  /** Σ sizes of files that were not refunded: what `stored` must be. */
  readonly files: number;
  /** Σ of all adjustments: what `adjustment` must be. */
  readonly adjustments: number;
  /** Σ of the ledger's charges and refunds, and what they must be: files charged and not refunded there. */
  readonly ledgerFiles: number;
  readonly postedFiles: number;
  /** Σ of the ledger's adjustments, and what they must be: adjustments that were posted. */
  readonly ledgerAdjustments: number;
  readonly postedAdjustments: number;
  /** Σ reservations of uploads: what `reserved` must be. */
  readonly uploads: number;
  /** Pictures that wait for their render: what `renders` must be. */
  readonly pending: number;
}

const EVERYONE = sql`true`;

/**
 * The books of users, as a query: one pass over each table, however many users there are.
 * @param which a condition on `u`, the user
 */
function booksQuery(which: RawBuilder<unknown>): RawBuilder<Books> {
  return sql<Books>`
    SELECT u.id AS "userId", q.user_id IS NOT NULL AS "hasQuota",
      coalesce(q.stored_bytes, 0) AS stored, coalesce(q.adjustment_bytes, 0) AS adjustment,
      coalesce(q.reserved_bytes, 0) AS reserved, coalesce(q.renders_outstanding, 0) AS renders,
      coalesce(f.stored, 0)::int8 AS files, coalesce(f.posted, 0)::int8 AS "postedFiles",
      coalesce(f.pending, 0)::int8 AS pending,
      coalesce(a.every, 0)::int8 AS adjustments, coalesce(a.posted, 0)::int8 AS "postedAdjustments",
      coalesce(l.files, 0)::int8 AS "ledgerFiles", coalesce(l.adjustments, 0)::int8 AS "ledgerAdjustments",
      coalesce(r.reserved, 0)::int8 AS uploads
    FROM users u
    LEFT JOIN quotas q ON q.user_id = u.id
    LEFT JOIN (
      SELECT user_id, sum(size_bytes) FILTER (WHERE refunded_at IS NULL) AS stored,
        sum(size_bytes) FILTER (WHERE posted_at IS NOT NULL AND refund_posted_at IS NULL) AS posted,
        count(*) FILTER (WHERE render_state = 'pending' AND state = 'stored') AS pending
      FROM files GROUP BY user_id
    ) f ON f.user_id = u.id
    LEFT JOIN (
      SELECT user_id, sum(bytes) AS every, sum(bytes) FILTER (WHERE posted_at IS NOT NULL) AS posted
      FROM quota_adjustments GROUP BY user_id
    ) a ON a.user_id = u.id
    LEFT JOIN (
      SELECT user_id, sum(bytes) FILTER (WHERE kind <> 'adjustment') AS files,
        sum(bytes) FILTER (WHERE kind = 'adjustment') AS adjustments
      FROM ledger_entries GROUP BY user_id
    ) l ON l.user_id = u.id
    LEFT JOIN (SELECT user_id, sum(reserved_bytes) AS reserved FROM uploads GROUP BY user_id) r
      ON r.user_id = u.id
    WHERE ${which}`;
}

/** The books of one user. */
export async function readBooksOf(db: Db, userId: string): Promise<Books | undefined> {
  return (await booksQuery(sql`u.id = ${userId}::uuid`).execute(db)).rows[0];
}

export interface FaultyBooks {
  readonly books: readonly Books[];
  /** Users with faults, those beyond the limit included. */
  readonly total: number;
  /** Σ of all differences in bytes, whatever their sign, of all users. */
  readonly driftBytes: number;
}

/** The books that do not balance, at most `limit` of them. */
export async function readFaultyBooks(db: Db, limit: number): Promise<FaultyBooks> {
  const { rows } = await sql<Books & { total: number; drift: number }>`
    SELECT b.*, count(*) OVER ()::int4 AS total,
      sum(abs(stored - files) + abs(adjustment - adjustments) + abs("ledgerFiles" - "postedFiles")
        + abs("ledgerAdjustments" - "postedAdjustments")) OVER ()::int8 AS drift
    FROM (${booksQuery(EVERYONE)}) AS b
    WHERE NOT "hasQuota" OR stored <> files OR adjustment <> adjustments OR stored + adjustment < 0
      OR "ledgerFiles" <> "postedFiles" OR "ledgerAdjustments" <> "postedAdjustments"
      OR reserved <> uploads OR renders <> pending
    LIMIT ${limit}`.execute(db);
  const [first] = rows;
  return { books: rows, total: first?.total ?? 0, driftBytes: first?.drift ?? 0 };
}
