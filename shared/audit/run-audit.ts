import { AUDIT_WINDOWS, type AuditWindows, type CheckDeps } from './audit-deps.ts';
import { checkBooks } from './check-books.ts';
import { checkLeases } from './check-leases.ts';
import { checkObjects } from './check-objects.ts';
import { checkOriginals } from './check-originals.ts';
import { checkPictures } from './check-pictures.ts';
import { checkQueues } from './check-queues.ts';
import { checkVariants } from './check-variants.ts';
import { type Findings, FindingsBook, type Violation } from './findings.ts';
import { inSnapshot } from './in-snapshot.ts';
import { repair } from './repair.ts';

export interface RepairOptions {
  /** An object that no row knows of is moved once it is older than this, ms. Default 24 hours. */
  readonly orphanAgeMs?: number;
  /** Told of every violation that was tried to be repaired. */
  readonly onRepair: (violation: Violation, repaired: boolean) => void;
}

export interface AuditOptions extends Pick<CheckDeps, 'db' | 'store' | 'backend' | 'thumbnailWidths'> {
  /** Reads and hashes all bytes too. Default false. */
  readonly deep?: boolean;
  /** Mends what can be mended safely. Without it nothing is changed. */
  readonly repair?: RepairOptions;
  readonly windows?: Partial<AuditWindows>;
  readonly signal?: AbortSignal;
}

export interface AuditReport {
  readonly findings: Findings;
  /** Bytes by which quotas and ledgers differ from what files and adjustments say, all users together. */
  readonly driftBytes: number;
  /** Pictures that wait to be rendered again, because the configuration has changed. */
  readonly outdatedPictures: number;
}

const ORPHAN_AGE_MS = 24 * 3_600_000;

/**
 * Checks I1 to I5 on a live system. Numbers come from one snapshot of the database; objects and jobs are looked at
 * outside of it, and what looks wrong is looked at again, so that what comes and goes meanwhile is no violation.
 * Memory stays bounded however many files there are.
 * @throws {AppError} when a service does not answer: then nothing is known
 */
export async function runAudit(options: AuditOptions): Promise<AuditReport> {
  const { db, store, backend, thumbnailWidths, deep = false } = options;
  const signal = options.signal ?? new AbortController().signal;
  const windows = { ...AUDIT_WINDOWS, ...options.windows };
  const book = new FindingsBook();
  const report = reporter(options, book, windows, signal);
  const deps: CheckDeps = { db, store, backend, thumbnailWidths, deep, windows, book, report, signal };

  const fromSnapshot = await inSnapshot(db, signal, async (snapshot) => {
    const driftBytes = await checkBooks(snapshot, deps);
    await checkLeases(snapshot, deps);
    return { driftBytes, outdatedPictures: await checkPictures(snapshot, deps) };
  });
  for (const check of [checkQueues, checkOriginals, checkVariants, checkObjects]) await check(deps);
  return { findings: book.findings, ...fromSnapshot };
}

function reporter(
  { db, store, repair: repairing }: AuditOptions,
  book: FindingsBook,
  { secondPassMs }: AuditWindows,
  signal: AbortSignal,
): CheckDeps['report'] {
  return async (violations) => {
    // Several faults may have the same remedy: all of a user's books, say.
    const done = new Map<string, boolean>();
    for (const violation of violations) {
      book.violated(violation);
      const { invariant, remedy } = violation;
      if (repairing === undefined || remedy === undefined) continue;
      const name = JSON.stringify(remedy);
      const { orphanAgeMs = ORPHAN_AGE_MS } = repairing;
      const repaired =
        done.get(name) ?? (await repair({ db, store, orphanAgeMs, secondPassMs, signal }, remedy));
      done.set(name, repaired);
      if (repaired) book.repaired(invariant);
      repairing.onRepair(violation, repaired);
    }
  };
}
