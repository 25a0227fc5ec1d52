/** The columns of a quota row that its records are made of. All are bytes. */
export interface QuotaBytes {
  readonly stored_bytes: number;
  readonly adjustment_bytes: number;
  readonly max_bytes: number;
}

/** A quota as the quota operations answer it. */
export interface QuotaRecord {
  readonly user_id: string;
  /** Bytes used: what is stored, as corrected by increases, sets and write-offs. Never below 0. */
  readonly current_quota: number;
  /** The limit, in bytes. */
  readonly max_quota: number;
}

/** A quota as the current-user record shows it. */
export interface QuotaSummary {
  readonly current_quota: number;
  readonly max_quota: number;
  readonly usage_percentage: number;
}

/** The record of a user's quota row. */
export function quotaRecord(row: QuotaBytes & { readonly user_id: string }): QuotaRecord {
  return { user_id: row.user_id, current_quota: currentQuota(row), max_quota: row.max_bytes };
}

/** The summary of a quota row. */
export function quotaSummary(row: QuotaBytes): QuotaSummary {
  const current = currentQuota(row);
  return {
    current_quota: current,
    max_quota: row.max_bytes,
    usage_percentage: usagePercentage(current, row.max_bytes),
  };
}

/** Bytes used. Reservations of running uploads are not used yet and do not count. */
export function currentQuota(row: Pick<QuotaBytes, 'stored_bytes' | 'adjustment_bytes'>): number {
  return row.stored_bytes + row.adjustment_bytes;
}

/** `current / max * 100`, above 100 when the limit was lowered. A limit of 0 has no ratio: 0 when empty, else 100. */
function usagePercentage(current: number, max: number): number {
  if (max === 0) return current === 0 ? 0 : 100;
  return (current / max) * 100;
}
