import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Database } from '@stowage/shared/database/schema.ts';
import { createQuota } from '@stowage/shared/quota/create-quota.ts';
import { type Insertable, sql } from 'kysely';

/** A user with an empty quota of `maxBytes`, straight into the tables. Returns the id. */
export async function makeUser(
  db: Db,
  { maxBytes = 1_000_000, role = 'user' as 'user' | 'admin' } = {},
): Promise<string> {
  const name = randomBytes(8).toString('hex');
  const { id } = await db
    .insertInto('users')
    .values({ email: `${name}@example.com`, username: name, role })
    .returning('id')
    .executeTakeFirstOrThrow();
  await createQuota(db, id, maxBytes);
  return id;
}

export type TestFile = Insertable<Database['files']>;

/** A stored file of a user, counted in the quota and not yet posted, straight into the tables. */
export async function makeFile(db: Db, userId: string, values: Partial<TestFile> = {}): Promise<TestFile> {
  const file: TestFile = {
    id: randomUUID(),
    stem: randomBytes(13).toString('hex'),
    extension: 'txt',
    user_id: userId,
    object_key: `originals/${randomUUID()}/0`,
    content_type: 'text/plain',
    size_bytes: 1_000,
    sha256: '0'.repeat(64),
    render_state: 'none',
    ...values,
  };
  await db.insertInto('files').values(file).execute();
  await db
    .updateTable('quotas')
    .set((eb) => ({ stored_bytes: eb('stored_bytes', '+', file.size_bytes) }))
    .where('user_id', '=', userId)
    .execute();
  return file;
}

export interface QuotaBooks {
  readonly stored: number;
  readonly adjustment: number;
  readonly reserved: number;
  /** Σ sizes of files that were not refunded. */
  readonly files: number;
  /** Σ reservations of uploads. */
  readonly uploads: number;
  readonly ledger: number;
  readonly unposted: number;
}

/** All numbers of a user that must agree, in one snapshot. */
export async function readBooks(db: Db, userId: string): Promise<QuotaBooks> {
  const { rows } = await sql<QuotaBooks>`
    SELECT q.stored_bytes AS stored, q.adjustment_bytes AS adjustment, q.reserved_bytes AS reserved,
      (SELECT coalesce(sum(size_bytes), 0)::bigint FROM files WHERE user_id = q.user_id AND refunded_at IS NULL) AS files,
      (SELECT coalesce(sum(reserved_bytes), 0)::bigint FROM uploads WHERE user_id = q.user_id) AS uploads,
      (SELECT coalesce(sum(bytes), 0)::bigint FROM ledger_entries WHERE user_id = q.user_id) AS ledger,
      (SELECT coalesce(sum(
          CASE WHEN posted_at IS NULL THEN size_bytes ELSE 0 END
          - CASE WHEN refunded_at IS NOT NULL AND refund_posted_at IS NULL THEN size_bytes ELSE 0 END), 0)::bigint
        FROM files WHERE user_id = q.user_id)
      + (SELECT coalesce(sum(bytes), 0)::bigint FROM quota_adjustments
        WHERE user_id = q.user_id AND posted_at IS NULL) AS unposted
    FROM quotas q WHERE q.user_id = ${userId}`.execute(db);
  return rows[0]!;
}

/** What is wrong in a user's books: empty when invariant I2 holds. */
export async function faultsInBooks(db: Db, userId: string): Promise<string[]> {
  const books = await readBooks(db, userId);
  const used = books.stored + books.adjustment;
  const faults: string[] = [];
  if (books.stored !== books.files) faults.push(`stored ${books.stored}, files ${books.files}`);
  if (books.reserved !== books.uploads) faults.push(`reserved ${books.reserved}, uploads ${books.uploads}`);
  if (used !== books.ledger + books.unposted)
    faults.push(`used ${used}, ledger ${books.ledger} + unposted ${books.unposted}`);
  if (used < 0) faults.push(`used ${used}`);
  return faults;
}
