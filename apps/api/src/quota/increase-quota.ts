import type { Db } from '@stowage/shared/database/open-database.ts';
import { adjustQuota } from '@stowage/shared/quota/adjust-quota.ts';
import type { QuotaRecord } from '@stowage/shared/quota/quota-record.ts';
import type { RequestCaller } from '../http/require-caller.ts';
import { actOn } from './act-on.ts';
import { changedRecord } from './changed-record.ts';

export interface IncreaseQuota {
  readonly caller: RequestCaller;
  readonly userId: string;
  /** 0 … 2^53−1. */
  readonly additionalBytes: number;
  readonly requestId: string;
}

/**
 * Adds bytes to the bytes used. The answer is exactly the old number and the addition, also when others change it
 * at the same time. `FORBIDDEN`, `USER_NOT_FOUND`; past the limit `QUOTA_EXCEEDED`, and nothing changes.
 */
export async function increaseQuota(db: Db, request: IncreaseQuota): Promise<QuotaRecord> {
  const userId = actOn(request.caller, request.userId);
  return changedRecord(
    await adjustQuota(db, {
      userId,
      kind: 'increase',
      bytes: request.additionalBytes,
      actorId: request.caller.userId,
      requestId: request.requestId,
    }),
  );
}
