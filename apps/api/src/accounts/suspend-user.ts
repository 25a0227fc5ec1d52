import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Caller } from '../http/authenticate.ts';
import { checkedTarget, unknownUser } from './administered-user.ts';
import { revokeSessions } from './revoke-sessions.ts';

/**
 * Suspends a user, or lifts the suspension. A suspended user can neither log in nor use a session, from the commit on;
 * their files stay readable.
 * @throws {AppError} FORBIDDEN, USER_NOT_FOUND
 */
export async function suspendUser(
  db: Db,
  caller: Caller,
  input: { userId: string; suspended: boolean },
): Promise<void> {
  const userId = checkedTarget(caller, input.userId);
  await db.transaction().execute(async (trx) => {
    const changed = await trx
      .updateTable('users')
      .set({ state: input.suspended ? 'suspended' : 'active' })
      .where('id', '=', userId)
      .where('state', '!=', 'deleted')
      .returning('id')
      .executeTakeFirst();
    if (changed === undefined) throw unknownUser();
    if (input.suspended) await revokeSessions(trx, userId);
  });
}
