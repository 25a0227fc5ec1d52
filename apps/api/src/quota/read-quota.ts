import type { Db } from '@stowage/shared/database/open-database.ts';
import { type QuotaRecord, quotaRecord } from '@stowage/shared/quota/quota-record.ts';
import type { RequestCaller } from '../http/require-caller.ts';
import { actOn, userNotFound } from './act-on.ts';

/** A user's quota record. `FORBIDDEN` for another user's, `USER_NOT_FOUND` to administrators. */
export async function readQuota(
  db: Db,
  request: { readonly caller: RequestCaller; readonly userId: string },
): Promise<QuotaRecord> {
  const row = await db
    .selectFrom('quotas')
    .innerJoin('users', 'users.id', 'quotas.user_id')
    .where('quotas.user_id', '=', actOn(request.caller, request.userId))
    .where('users.state', '<>', 'deleted')
    .select(['quotas.user_id', 'stored_bytes', 'adjustment_bytes', 'max_bytes'])
    .executeTakeFirst();
  if (row === undefined) throw userNotFound();
  return quotaRecord(row);
}
