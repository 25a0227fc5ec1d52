import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { fileOfVariant, OBJECT_PREFIXES, type ObjectPrefix, unknownKeys } from './known-keys.ts';

/** Objects that no row knows of wait here: a database that was restored from a newer backup may want them again. */
export const QUARANTINE_PREFIX = 'quarantine/';

const DAY_MS = 86_400_000;
export const QUARANTINE_KEPT_MS = 30 * DAY_MS;

/** Keys that the store is asked to remove in one request. */
const KEYS_AT_ONCE = 1_000;

/** Where an object is while it is in quarantine. */
export function quarantineKey(key: string): string {
  return `${QUARANTINE_PREFIX}${key}`;
}

/**
 * Moves an object into quarantine if still no row knows of it. That is asked in a transaction which bars renders of
 * its file until the object is moved. Returns false when a row knows of it.
 */
export async function quarantineObject(
  db: Db,
  store: Pick<ObjectStore, 'move'>,
  key: string,
): Promise<boolean> {
  const prefix = prefixOf(key);
  if (prefix === undefined) return false;
  return await db.transaction().execute(async (trx) => {
    // A large object takes its time to be copied.
    await sql`SET LOCAL idle_in_transaction_session_timeout = '5min'`.execute(trx);
    const fileId = fileOfVariant(key);
    if (fileId !== undefined) await sql`SELECT FROM files WHERE id = ${fileId}::uuid FOR UPDATE`.execute(trx);
    if ((await unknownKeys(trx, prefix, [key])).length === 0) return false;
    await store.move(key, quarantineKey(key));
    return true;
  });
}

/** Removes what has been in quarantine long enough, and returns the number of objects. */
export async function emptyQuarantine(
  { store, keptMs = QUARANTINE_KEPT_MS }: { store: Pick<ObjectStore, 'list' | 'delete'>; keptMs?: number },
  signal?: AbortSignal,
): Promise<number> {
  const before = Date.now() - keptMs;
  let removed = 0;
  let keys: string[] = [];
  const removeThem = async () => {
    if (keys.length > 0) await store.delete(keys);
    removed += keys.length;
    keys = [];
  };
  for await (const { key, modifiedAt } of store.list(QUARANTINE_PREFIX)) {
    if (signal?.aborted === true) break;
    if (modifiedAt.getTime() <= before) keys.push(key);
    if (keys.length === KEYS_AT_ONCE) await removeThem();
  }
  await removeThem();
  return removed;
}

function prefixOf(key: string): ObjectPrefix | undefined {
  return OBJECT_PREFIXES.find((prefix) => key.startsWith(prefix));
}
