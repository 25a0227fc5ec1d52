import { describe, expect, it } from 'vitest';
import { quotaRecord, quotaSummary } from './quota-record.ts';

describe('a quota record', () => {
  it('counts stored bytes and adjustments as used', () => {
    const row = { user_id: 'u', stored_bytes: 700, adjustment_bytes: -200, max_bytes: 1000 };
    expect(quotaRecord(row)).toEqual({ user_id: 'u', current_quota: 500, max_quota: 1000 });
  });

  it('gives the usage as current / max * 100', () => {
    expect(quotaSummary({ stored_bytes: 1, adjustment_bytes: 0, max_bytes: 3 })).toEqual({
      current_quota: 1,
      max_quota: 3,
      usage_percentage: (1 / 3) * 100,
    });
  });

  it('shows a usage above 100 when the limit was lowered below it', () => {
    expect(quotaSummary({ stored_bytes: 20, adjustment_bytes: 0, max_bytes: 10 }).usage_percentage).toBe(200);
  });

  it('gives a finite usage for a limit of 0', () => {
    expect(quotaSummary({ stored_bytes: 0, adjustment_bytes: 0, max_bytes: 0 }).usage_percentage).toBe(0);
    expect(quotaSummary({ stored_bytes: 5, adjustment_bytes: 0, max_bytes: 0 }).usage_percentage).toBe(100);
  });
});
