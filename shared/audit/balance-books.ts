import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { faultsIn } from './check-books.ts';
import { readBooksOf } from './read-books.ts';

/**
 * Brings a user's quota and ledger back to what files, uploads and adjustments say:
 *
 * - What is marked as posted and is not in the ledger is posted again; a charge of a file that is gone is refunded.
 * - `stored_bytes` becomes the sum of the files. The ledger gets the drift and its correction, as two adjustments.
 * - `adjustment_bytes` has no cause but its adjustments, and users were shown it: it stays, and what it has beyond
 *   them becomes an adjustment of its own, hence an entry of the ledger.
 * - Reservations and waiting renders are counted anew.
 *
 * Whatever changes a quota locks its row, so what is read after the lock is as of one moment. Returns whether
 * everything agrees now.
 */
export async function balanceBooks(db: Db, userId: string): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    const locked = await sql`SELECT FROM quotas WHERE user_id = ${userId}::uuid FOR UPDATE`.execute(trx);
    if (locked.rows.length === 0) return false;
    await mendLedger(trx, userId);
    await correctStored(trx, userId);
    await enterUnexplained(trx, userId);
    await recount(trx, userId);
    await sql`
      INSERT INTO outbox (queue, name, payload)
      VALUES ('quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', ${userId}::text))`.execute(
      trx,
    );
    const books = await readBooksOf(trx, userId);
    return books !== undefined && faultsIn(books).length === 0;
  });
}

async function mendLedger(trx: Db, userId: string): Promise<void> {
  const statements = [
    sql`UPDATE files f SET posted_at = NULL
      WHERE user_id = ${userId}::uuid AND posted_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM ledger_entries l WHERE l.kind = 'charge' AND l.cause_id = f.id)`,
    sql`UPDATE files f SET refund_posted_at = NULL
      WHERE user_id = ${userId}::uuid AND refund_posted_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM ledger_entries l WHERE l.kind = 'refund' AND l.cause_id = f.id)`,
    sql`UPDATE quota_adjustments a SET posted_at = NULL
      WHERE user_id = ${userId}::uuid AND posted_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM ledger_entries l WHERE l.kind = 'adjustment' AND l.cause_id = a.id)`,
    // The row of a file goes only after its refund was posted; here it went by other means.
    sql`INSERT INTO ledger_entries (user_id, kind, bytes, cause_id, occurred_at)
      SELECT user_id, 'refund', -bytes, cause_id, now() FROM ledger_entries l
      WHERE user_id = ${userId}::uuid AND kind = 'charge'
        AND NOT EXISTS (SELECT FROM files f WHERE f.id = l.cause_id)
        AND NOT EXISTS (SELECT FROM ledger_entries r WHERE r.kind = 'refund' AND r.cause_id = l.cause_id)
      ON CONFLICT (kind, cause_id) DO NOTHING`,
    sql`INSERT INTO quota_adjustments (id, user_id, bytes, reason, created_at, posted_at)
      SELECT cause_id, user_id, bytes, 'repair', occurred_at, posted_at FROM ledger_entries
      WHERE user_id = ${userId}::uuid AND kind = 'adjustment'
      ON CONFLICT (id) DO NOTHING`,
  ];
  for (const statement of statements) await statement.execute(trx);
}

async function correctStored(trx: Db, userId: string): Promise<void> {
  const books = await readBooksOf(trx, userId);
  if (books === undefined || books.stored === books.files) return;
  const drift = books.stored - books.files;
  // A low `set` may have counted on bytes that are not there: the sum never falls below 0.
  const writtenOff = Math.max(0, -books.files - books.adjustment);
  await sql`
    UPDATE quotas SET stored_bytes = ${books.files}, adjustment_bytes = adjustment_bytes + ${writtenOff}
    WHERE user_id = ${userId}::uuid`.execute(trx);
  await enter(trx, userId, [drift, -drift, writtenOff]);
}

async function enterUnexplained(trx: Db, userId: string): Promise<void> {
  const books = await readBooksOf(trx, userId);
  if (books !== undefined) await enter(trx, userId, [books.adjustment - books.adjustments]);
}

/** Records repairs as adjustments; the posting makes entries of the ledger of them. */
async function enter(trx: Db, userId: string, repairs: readonly number[]): Promise<void> {
  const values = repairs.filter((bytes) => bytes !== 0);
  if (values.length === 0) return;
  await trx
    .insertInto('quota_adjustments')
    .values(values.map((bytes) => ({ user_id: userId, bytes, reason: 'repair' as const })))
    .execute();
}

async function recount(trx: Db, userId: string): Promise<void> {
  await sql`
    UPDATE quotas SET
      reserved_bytes = (
        SELECT coalesce(sum(reserved_bytes), 0)::bigint FROM uploads WHERE user_id = ${userId}::uuid),
      renders_outstanding = (
        SELECT count(*)::int FROM files
        WHERE user_id = ${userId}::uuid AND render_state = 'pending' AND state = 'stored')
    WHERE user_id = ${userId}::uuid`.execute(trx);
}
