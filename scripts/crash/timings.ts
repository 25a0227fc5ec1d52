import type { AuditWindows } from '@stowage/shared/audit/audit-deps.ts';
import type { TestTimings } from '@stowage/shared/faults/arm-faults.ts';

/**
 * The program's leases and intervals, about a tenth of what they are in production, in the same proportions: so that
 * a run of minutes sees many of them end.
 */
export const TIMINGS = {
  uploads: { leaseMs: 10_000, leaseMarginMs: 2_000, leaseTickMs: 500, postingDelayMs: 500 },
  relay: { pollMs: 1_000, claimMs: 5_000, backoff: { firstMs: 8_000, longestMs: 30_000 } },
  jobs: { lockDurationMs: 8_000, stalledIntervalMs: 4_000, firstPauseMs: 500 },
  cleanup: {
    secondPassAfterMs: 15_000,
    intervals: { uploads: 1_000, deletedUsers: 5_000, requeue: 5_000 },
  },
} satisfies TestTimings;

/** Everything has come to rest when the audit runs: nothing may be on its way. */
export const AUDIT_AT_REST: AuditWindows = { sweepMs: 0, secondPassMs: 0, renderGraceMs: 0, refillMs: 0 };

/** After a round, with all faults off, everything must be right within this. */
export const RECOVERY_MS = 120_000;
