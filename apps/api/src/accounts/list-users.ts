import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Caller } from '../http/authenticate.ts';
import { USER_COLUMNS, type UserRecord, userRecord } from './user-record.ts';

const MOST_USERS = 1_000;

/** The users that the caller may see: an administrator everyone, newest first and at most 1,000; others themselves. */
export async function listUsers(db: Db, caller: Caller): Promise<UserRecord[]> {
  const rows = await db
    .selectFrom('users')
    .select(USER_COLUMNS)
    .where('state', '!=', 'deleted')
    .$if(caller.role !== 'admin', (query) => query.where('id', '=', caller.userId))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_USERS)
    .execute();
  return rows.map(userRecord);
}
