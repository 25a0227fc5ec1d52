import type { Db } from '../database/open-database.ts';

/** Gives a new user a quota of `maxBytes`, in the transaction that makes the user. Does nothing when there is one. */
export async function createQuota(trx: Db, userId: string, maxBytes: number): Promise<void> {
  await trx
    .insertInto('quotas')
    .values({ user_id: userId, max_bytes: maxBytes })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute();
}
