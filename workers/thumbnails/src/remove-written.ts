import type { Db } from '@stowage/shared/database/open-database.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { Job } from '@stowage/shared/queues/job.ts';

export interface RemovalDeps {
  readonly db: Db;
  readonly store: Pick<ObjectStore, 'delete' | 'list'>;
}

/**
 * Removes what was written for a file that has gone meanwhile: its deletion may have passed before it was written,
 * when this process was paused for long. The variants of a file that is still there stay for the next attempt.
 */
export async function removeOfDeleted(
  { db, store }: RemovalDeps,
  { logger }: Pick<Job, 'logger'>,
  fileId: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  try {
    const file = await db.selectFrom('files').select('state').where('id', '=', fileId).executeTakeFirst();
    if (file?.state !== 'stored') await store.delete(keys);
  } catch (error) {
    logger.warn({ err: error, fileId }, 'variants of a deleted file may be left');
  }
}

/**
 * Removes what was just written, and what earlier attempts left that ended with their process. A picture that had
 * variants before keeps them, and some of them may have the keys that were just written.
 */
export async function removeUnlessListed(
  deps: RemovalDeps,
  fileId: string,
  keys: readonly string[],
): Promise<void> {
  const written = new Set(keys);
  for await (const { key } of deps.store.list(`variants/${fileId}/`)) written.add(key);
  if (written.size === 0) return;
  const rows = await deps.db
    .selectFrom('variants')
    .select('object_key')
    .where('file_id', '=', fileId)
    .execute();
  const listed = new Set(rows.map((row) => row.object_key));
  await deps.store.delete([...written].filter((key) => !listed.has(key)));
}
