import type { Db } from '@stowage/shared/database/open-database.ts';
import { adjustQuota } from '@stowage/shared/quota/adjust-quota.ts';
import type { QuotaRecord } from '@stowage/shared/quota/quota-record.ts';
import type { RequestCaller } from '../http/require-caller.ts';
import { actOn } from './act-on.ts';
import { changedRecord } from './changed-record.ts';

export interface SetQuota {
  readonly caller: RequestCaller;
  readonly userId: string;
  /** 0 … 2^53−1. */
  readonly newQuotaBytes: number;
  readonly requestId: string;
}

/**
 * Makes a number the bytes used. It moves the adjustment only: files that are stored go on taking their room.
 * `FORBIDDEN`, `USER_NOT_FOUND`; past the limit `QUOTA_EXCEEDED`, and nothing changes.
 */
export async function setQuota(db: Db, request: SetQuota): Promise<QuotaRecord> {
  const userId = actOn(request.caller, request.userId);
  return changedRecord(
    await adjustQuota(db, {
      userId,
      kind: 'set',
      bytes: request.newQuotaBytes,
      actorId: request.caller.userId,
      requestId: request.requestId,
    }),
  );
}
