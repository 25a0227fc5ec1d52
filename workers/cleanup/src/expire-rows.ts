import type { Db } from '@stowage/shared/database/open-database.ts';
import { type RawBuilder, sql } from 'kysely';

/** Rows that nobody can use any more, and how that is told. Sessions and sign-ups stay a day longer, to be looked at. */
const EXPIRED: readonly { readonly table: string; readonly where: RawBuilder<unknown> }[] = [
  { table: 'idempotency_keys', where: sql`created_at < now() - interval '24 hours'` },
  {
    table: 'sessions',
    where: sql`least(expires_at, idle_expires_at, coalesce(revoked_at, expires_at)) < now() - interval '1 day'`,
  },
  { table: 'sign_ups', where: sql`expires_at < now() - interval '1 day'` },
];

/** Removes expired rows, a batch at a time, and returns their number. */
export async function expireRows(db: Db, signal?: AbortSignal, batchSize = 1_000): Promise<number> {
  let removed = 0;
  for (const { table, where } of EXPIRED) {
    for (let last = batchSize; last === batchSize && signal?.aborted !== true; removed += last) {
      last = await removeBatch(db, table, where, batchSize);
    }
  }
  return removed;
}

async function removeBatch(
  db: Db,
  table: string,
  where: RawBuilder<unknown>,
  limit: number,
): Promise<number> {
  const name = sql.table(table);
  const { numAffectedRows } = await sql`
    DELETE FROM ${name} WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${name} WHERE ${where} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
