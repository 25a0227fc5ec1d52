import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { adjustQuota } from '@stowage/shared/quota/adjust-quota.ts';
import type { QuotaRecord } from '@stowage/shared/quota/quota-record.ts';
import { userNotFound } from './act-on.ts';

/** The record after a change; a change that was not made as `QUOTA_EXCEEDED` or `USER_NOT_FOUND`. */
export function changedRecord(outcome: Awaited<ReturnType<typeof adjustQuota>>): QuotaRecord {
  if (outcome === 'unknown-user') throw userNotFound();
  if (outcome === 'no-room') {
    throw new AppError(
      'QUOTA_EXCEEDED',
      'The bytes used, and those that running uploads hold, would pass the limit.',
    );
  }
  return outcome;
}
