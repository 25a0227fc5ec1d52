import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Db } from '../database/open-database.ts';
import type { AuditReading } from '../metrics/audit-gauges.ts';
import { INVARIANTS } from './findings.ts';
import type { AuditReport } from './run-audit.ts';

/** The sweep that audits, and the row in which its last result is kept for all processes to show. */
export const AUDIT_SWEEP = 'audit';

const Stored = Type.Object({
  finishedAt: Type.String(),
  driftBytes: Type.Number(),
  violations: Type.Record(Type.String(), Type.Number()),
});

/** Keeps what an audit has found, in the row that claimed it. */
export async function saveAudit(db: Db, report: AuditReport): Promise<void> {
  const stored: Static<typeof Stored> = {
    finishedAt: new Date().toISOString(),
    driftBytes: report.driftBytes,
    violations: Object.fromEntries(
      INVARIANTS.map((invariant) => [invariant, report.findings[invariant].violations]),
    ),
  };
  await db
    .updateTable('sweeps')
    .set({ result: JSON.stringify(stored) })
    .where('name', '=', AUDIT_SWEEP)
    .execute();
}

/** The last audit that came to its end; undefined before the first. */
export async function readLastAudit(db: Db): Promise<AuditReading | undefined> {
  const row = await db
    .selectFrom('sweeps')
    .select('result')
    .where('name', '=', AUDIT_SWEEP)
    .executeTakeFirst();
  const result: unknown = row?.result;
  if (!Value.Check(Stored, result)) return undefined;
  const { finishedAt, driftBytes, violations } = result;
  return { finishedAt: new Date(finishedAt), driftBytes, violations };
}
