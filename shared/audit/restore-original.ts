import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { quarantineKey } from './quarantine.ts';
import { readAndHash } from './read-and-hash.ts';

/**
 * Fetches a stored file's original from the quarantine, when it is there with the right bytes and missing where it
 * belongs. Returns false when it cannot help.
 */
export async function restoreOriginal(
  db: Db,
  store: Pick<ObjectStore, 'get' | 'head' | 'move'>,
  fileId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const file = await db
    .selectFrom('files')
    .select(['object_key', 'sha256'])
    .where('id', '=', fileId)
    .executeTakeFirst();
  if (file === undefined) return false;
  const { object_key: key, sha256 } = file;
  if ((await readAndHash(store, quarantineKey(key), signal)) !== sha256) return false;
  return await db.transaction().execute(async (trx) => {
    await sql`SET LOCAL idle_in_transaction_session_timeout = '5min'`.execute(trx);
    // A deletion waits until the object is where it will look for it.
    const locked = await sql`
      SELECT FROM files WHERE id = ${fileId}::uuid AND state = 'stored' FOR SHARE`.execute(trx);
    if (locked.rows.length === 0 || (await store.head(key)) !== undefined) return false;
    await store.move(quarantineKey(key), key);
    return true;
  });
}
