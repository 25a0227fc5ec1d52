import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type QuotaRecord, quotaRecord } from '@stowage/shared/quota/quota-record.ts';
import { sql } from 'kysely';
import type { RequestCaller } from '../http/require-caller.ts';
import { actOn, userNotFound } from './act-on.ts';

export interface SetLimit {
  readonly caller: RequestCaller;
  readonly userId: string;
  /** 0 … 2^53−1. It may be below the usage: reads go on, uploads find no room. */
  readonly maxQuotaBytes: number;
}

/** Changes a user's limit. Administrators only, also for their own: else `FORBIDDEN`. `USER_NOT_FOUND`. */
export async function setLimit(db: Db, request: SetLimit): Promise<QuotaRecord> {
  if (request.caller.role !== 'admin') {
    throw new AppError('FORBIDDEN', 'Only an administrator may change a limit.');
  }
  const row = await db
    .updateTable('quotas')
    .set({ max_bytes: request.maxQuotaBytes })
    .where('user_id', '=', actOn(request.caller, request.userId))
    .where(
      sql<boolean>`EXISTS (SELECT FROM users WHERE users.id = quotas.user_id AND users.state <> 'deleted')`,
    )
    .returning(['user_id', 'stored_bytes', 'adjustment_bytes', 'max_bytes'])
    .executeTakeFirst();
  if (row === undefined) throw userNotFound();
  return quotaRecord(row);
}
