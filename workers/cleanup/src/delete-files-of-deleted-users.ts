import type { Db } from '@stowage/shared/database/open-database.ts';
import { requestDeletionOfUser } from '@stowage/shared/deletions/request-deletion.ts';

/**
 * Goes on with the files of deleted users: the transaction that deletes a user marks only the first of many, and
 * an upload that was under way may have ended after it. Returns how many files it marked.
 */
export async function deleteFilesOfDeletedUsers(
  db: Db,
  signal?: AbortSignal,
  batchSize = 1_000,
): Promise<number> {
  let marked = 0;
  while (signal?.aborted !== true) {
    const users = await db
      .selectFrom('users')
      .select('id')
      .where('state', '=', 'deleted')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('files').whereRef('files.user_id', '=', 'users.id').where('files.state', '=', 'stored'),
        ),
      )
      .limit(100)
      .execute();
    if (users.length === 0) break;
    for (const { id: userId } of users) marked += await requestDeletionOfUser(db, { userId, batchSize });
  }
  return marked;
}
