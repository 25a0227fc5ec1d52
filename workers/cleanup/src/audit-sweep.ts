import { AUDIT_SWEEP, saveAudit } from '@stowage/shared/audit/audit-record.ts';
import { countViolations } from '@stowage/shared/audit/findings.ts';
import { type AuditOptions, runAudit } from '@stowage/shared/audit/run-audit.ts';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { withDeadline } from '@stowage/shared/queues/with-deadline.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';

export interface AuditSweepDeps extends Pick<AuditOptions, 'store' | 'backend' | 'thumbnailWidths'> {
  readonly db: Db;
  /** Connections whose statements may take long. */
  readonly auditDb: Db;
  readonly logger: Logger;
  /** After how long to try again when an audit did not come to its end, ms. */
  readonly retryAfterMs: number;
  /** Time between two audits, ms. */
  readonly intervalMs: number;
}

/** Audits without changing anything, and keeps the result for the metrics. Resolves to the number of violations. */
export async function auditOnSchedule(deps: AuditSweepDeps, signal: AbortSignal): Promise<number> {
  const { db, auditDb, store, backend, thumbnailWidths, logger } = deps;
  try {
    // A page of objects may be long in coming; a process that is stopped does not wait for it.
    const audit = runAudit({ db: auditDb, store, backend, thumbnailWidths, signal });
    const report = await withDeadline(audit, signal);
    await saveAudit(db, report);
    const violations = countViolations(report.findings);
    if (violations > 0) logger.error({ ...report }, 'the audit found violations');
    else logger.info({ ...report }, 'the audit found everything in order');
    return violations;
  } catch (error) {
    await comeBackSooner(deps);
    throw error;
  }
}

/** The run was claimed for a whole interval; a process that is stopped must not cost one. */
async function comeBackSooner({ db, intervalMs, retryAfterMs }: AuditSweepDeps): Promise<void> {
  await sql`
    UPDATE sweeps SET last_run_at = now() - ${intervalMs - retryAfterMs} * interval '1 millisecond'
    WHERE name = ${AUDIT_SWEEP}`
    .execute(db)
    .catch(() => undefined);
}
