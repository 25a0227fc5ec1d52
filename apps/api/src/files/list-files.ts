import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { sql } from 'kysely';
import { type DescribedFile, describeFile } from './describe-file.ts';

export interface ListFiles {
  readonly caller: { readonly userId: string; readonly role: 'user' | 'admin' };
  /** Whose files; the caller's own when undefined. */
  readonly userId: string | undefined;
  /** Files on the page. */
  readonly limit: number;
  /** `next_cursor` of the page before; undefined for the first page. */
  readonly cursor: string | undefined;
}

export interface FileList {
  readonly files: DescribedFile[];
  readonly next_cursor: string | null;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * A page of a user's files, newest first. Pages do not shift when files come or go meanwhile.
 * @throws {AppError} FORBIDDEN, USER_NOT_FOUND, INVALID_REQUEST for a cursor that is none
 */
export async function listFiles(
  db: Db,
  { caller, userId = caller.userId, limit, cursor }: ListFiles,
): Promise<FileList> {
  if (userId !== caller.userId) await assertMayList(db, caller, userId);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  let page = db
    .selectFrom('files')
    .selectAll()
    .select(sql<string>`(extract(epoch FROM created_at) * 1000000)::bigint::text`.as('created_at_us'))
    .where('user_id', '=', userId)
    .where('state', '=', 'stored')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (after !== undefined)
    page = page.where(
      sql<boolean>`(created_at, id) < ('epoch'::timestamptz + ${after.createdAtUs}::bigint * interval '1 microsecond', ${after.id}::uuid)`,
    );
  const rows = await page.execute();
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    files: shown.map(describeFile),
    next_cursor: rows.length > limit && last !== undefined ? `${last.created_at_us}.${last.id}` : null,
  };
}

async function assertMayList(db: Db, caller: ListFiles['caller'], userId: string): Promise<void> {
  if (caller.role !== 'admin')
    throw new AppError('FORBIDDEN', "Only administrators may list another user's files.");
  const user = UUID.test(userId)
    ? await db.selectFrom('users').select('id').where('id', '=', userId).executeTakeFirst()
    : undefined;
  if (user === undefined) throw new AppError('USER_NOT_FOUND', 'There is no such user.');
}

function readCursor(cursor: string): { createdAtUs: string; id: string } {
  const [, createdAtUs, id] = /^(\d{1,16})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (createdAtUs === undefined || id === undefined || !UUID.test(id))
    throw new AppError('INVALID_REQUEST', 'cursor must be the next_cursor of a page.', {
      details: { field: 'cursor', rule: 'must be the next_cursor of a page' },
    });
  return { createdAtUs, id };
}
