import {
  countUnrepaired,
  countViolations,
  INVARIANTS,
  type Invariant,
} from '@stowage/shared/audit/findings.ts';
import type { AuditReport } from '@stowage/shared/audit/run-audit.ts';

const TITLES: Readonly<Record<Invariant, string>> = {
  I1: 'what was acknowledged reads back',
  I2: 'quotas, files and ledger agree',
  I3: 'nothing outlives its lease',
  I4: 'pictures have their variants',
  I5: 'objects and rows belong together',
};

/** The result as one table, with a line for each further example, and in words below. */
export function describeReport(report: AuditReport, { repaired }: { repaired: boolean }): string {
  const heads = ['invariant', 'checked', 'violations', ...(repaired ? ['repaired'] : []), 'examples'];
  const rows = INVARIANTS.flatMap((invariant) => {
    const finding = report.findings[invariant];
    const [first = '', ...others] = finding.examples.map(printable);
    const hidden = finding.violations - finding.examples.length;
    if (hidden > 0) others.push(`… and ${hidden} more`);
    return [
      [
        `${invariant} ${TITLES[invariant]}`,
        String(finding.checked),
        String(finding.violations),
        ...(repaired ? [String(finding.repaired)] : []),
        first,
      ],
      ...others.map((example) => [...heads.slice(1).map(() => ''), example]),
    ];
  });
  return [...table([heads, ...rows]), '', ...summary(report, repaired)].join('\n');
}

function summary(report: AuditReport, repaired: boolean): string[] {
  const { findings, driftBytes, outdatedPictures } = report;
  const lines: string[] = [];
  if (driftBytes > 0) lines.push(`Quotas and ledgers are off by ${driftBytes} bytes in all.`);
  if (outdatedPictures > 0)
    lines.push(
      `${outdatedPictures} pictures were rendered for another configuration; the workers render them again, behind all others.`,
    );
  const violations = countViolations(findings);
  const left = countUnrepaired(findings);
  if (violations === 0) lines.push('All in order.');
  else if (!repaired)
    lines.push(`${violations} violations. Mend what can be mended with: npm run audit -- --repair`);
  else if (left === 0)
    lines.push(`${violations} violations, all mended or in the hands of a job that mends them.`);
  else lines.push(`${violations} violations, of which ${left} are left.`);
  return lines;
}

/** Columns as wide as their widest cell; the last one as it comes. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        if (column === row.length - 1) return cell;
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Keys of objects that others have put into a bucket may hold anything. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}
