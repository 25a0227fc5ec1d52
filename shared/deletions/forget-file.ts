import type { Db } from '../database/open-database.ts';

/**
 * Removes a deleted file's row, and those of its variants. Only when the ledger holds both its charge and its
 * refund: until then the row is what the ledger is owed. Returns false when the row must stay for now.
 */
export async function forgetFile(db: Db, fileId: string): Promise<boolean> {
  const result = await db
    .deleteFrom('files')
    .where('id', '=', fileId)
    .where('state', '=', 'deleting')
    .where('posted_at', 'is not', null)
    .where('refund_posted_at', 'is not', null)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}
