import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { requestDeletionOfUser } from '@stowage/shared/deletions/request-deletion.ts';
import { sql } from 'kysely';
import type { Caller } from '../http/authenticate.ts';
import { checkedTarget, unknownUser } from './administered-user.ts';

export interface DeleteUserDeps {
  readonly db: Db;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
  /** How long other processes may still answer from memory after the commit. */
  readonly settleMs?: number;
}

const SETTLE_MS = 300;
const FILES_AT_ONCE = 1_000;

/**
 * Deletes a user: sessions end, personal data is erased, and all files are gone for readers when this returns; the
 * cleanup worker removes their bytes. The row stays without personal data, since the ledger refers to it.
 * @throws {AppError} FORBIDDEN, USER_NOT_FOUND
 */
export async function deleteUser(
  deps: DeleteUserDeps,
  caller: Caller,
  input: { userId: string; requestId: string },
): Promise<void> {
  const userId = checkedTarget(caller, input.userId);
  const { requestId } = input;
  await deps.db.transaction().execute(async (trx) => {
    const deleted = await trx
      .updateTable('users')
      .set({
        state: 'deleted',
        email: null,
        username: 'deleted',
        first_name: null,
        last_name: null,
        image: null,
        password_hash: null,
        email_verified_at: null,
        role: 'user',
      })
      .where('id', '=', userId)
      .where('state', '!=', 'deleted')
      .returning('id')
      .executeTakeFirst();
    if (deleted === undefined) throw unknownUser();
    await trx
      .updateTable('sessions')
      .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())`, user_agent: null, ip: null })
      .where('user_id', '=', userId)
      .execute();
    await trx.deleteFrom('sign_ups').where('user_id', '=', userId).execute();
  });
  // Not while the user's row is locked: uploads hold the quota, which this needs, while they wait for that row.
  // When it is cut short, the cleanup worker goes on.
  for (let marked = FILES_AT_ONCE; marked === FILES_AT_ONCE; )
    marked = await requestDeletionOfUser(deps.db, { userId, requestId, batchSize: FILES_AT_ONCE });
  deps.relayKick();
  await sleep(deps.settleMs ?? SETTLE_MS);
}
