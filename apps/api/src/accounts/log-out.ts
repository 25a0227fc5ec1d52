import type { Db } from '@stowage/shared/database/open-database.ts';
import { sql } from 'kysely';
import { revokeSessions } from './revoke-sessions.ts';
import type { Principal } from './tokens.ts';

/** Ends the caller's session. Its tokens are refused from then on, in every process. */
export async function logOut(db: Db, { sessionId }: Principal): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Ends all of the caller's sessions. */
export async function logOutEverywhere(db: Db, { userId }: Principal): Promise<void> {
  await revokeSessions(db, userId);
}
