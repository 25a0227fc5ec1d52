import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { FinishedUpload } from './finish-upload.ts';

/**
 * Whether an upload's files exist: for a request that lost the reply to its *finish*. A *finish* that is still at
 * work holds the lock of the upload's row, so this waits for it. The file rows of an upload exist all or not at
 * all: one of them answers for all.
 */
export async function isUploadFinished(db: Db, upload: FinishedUpload): Promise<boolean> {
  await sql`SELECT id FROM uploads WHERE id = ${upload.id}::uuid FOR KEY SHARE`.execute(db);
  const ids = upload.files.map((file) => file.id);
  const row = await db.selectFrom('files').select('id').where('id', 'in', ids).limit(1).executeTakeFirst();
  return row !== undefined;
}
