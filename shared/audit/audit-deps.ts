import type { Db } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import type { FindingsBook, Violation } from './findings.ts';

/** How long things may be on their way before they count as stuck. */
export interface AuditWindows {
  /** Within this, whatever is due was noticed by its sweep or by a relay, ms. */
  readonly sweepMs: number;
  /** Between the two times that a dead upload's objects are removed, ms. */
  readonly secondPassMs: number;
  /** Pending pictures younger than this are left alone by the sweep that looks for lost renders, ms. */
  readonly renderGraceMs: number;
  /** A queue that lost its jobs is filled again within this, ms. */
  readonly refillMs: number;
}

/** The longest interval of a sweep is a minute, and a run is late by a quarter of it at most. */
export const AUDIT_WINDOWS: AuditWindows = {
  sweepMs: 75_000,
  secondPassMs: 90_000,
  renderGraceMs: 300_000,
  refillMs: 10_000,
};

/** What every check works with. */
export interface CheckDeps {
  readonly db: Db;
  readonly store: ObjectStore;
  readonly backend: QueueBackend;
  /** Widths in px that are rendered ahead. */
  readonly thumbnailWidths: readonly number[];
  /** Whether bytes are read and hashed too. */
  readonly deep: boolean;
  readonly windows: AuditWindows;
  readonly book: FindingsBook;
  /** Takes confirmed violations: counts them, and repairs them when that was asked for. */
  readonly report: (violations: readonly Violation[]) => Promise<void>;
  readonly signal: AbortSignal;
}
