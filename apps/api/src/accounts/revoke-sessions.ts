import type { Db } from '@stowage/shared/database/open-database.ts';
import { sql } from 'kysely';

/** Ends all sessions of a user, from the commit on and in every process. */
export async function revokeSessions(trx: Db, userId: string): Promise<void> {
  await trx
    .updateTable('sessions')
    .set({ revoked_at: sql<Date>`now()` })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute();
}
