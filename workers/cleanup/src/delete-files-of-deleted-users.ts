import type { Db } from '@stowage/shared/database/open-database.ts';
import { requestDeletionOfUser } from '@stowage/shared/deletions/request-deletion.ts';
import { sql } from 'kysely';

/**
 * Goes on with the files of deleted users: the request that deleted a user may have been cut short, and an upload
 * that was under way may have ended after it. Returns how many files it marked.
 */
export async function deleteFilesOfDeletedUsers(
  db: Db,
  signal?: AbortSignal,
  batchSize = 1_000,
): Promise<number> {
  let marked = 0;
  while (signal?.aborted !== true) {
    const users = await usersWithFiles(db);
    if (users.length === 0) break;
    for (const { id: userId } of users) marked += await requestDeletionOfUser(db, { userId, batchSize });
  }
  return marked;
}

/** In the order of an index, so that it is asked for each user: a join would read all files there are. */
async function usersWithFiles(db: Db): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT u.id FROM users AS u CROSS JOIN LATERAL (
      SELECT FROM files AS f WHERE f.user_id = u.id AND f.state = 'stored'
      ORDER BY f.created_at DESC, f.id DESC LIMIT 1
    ) AS stored
    WHERE u.state = 'deleted' LIMIT 100`.execute(db);
  return rows;
}
