import type { Tally } from './tally.ts';

const TABLES = [
  'rounds',
  'faults',
  'named points',
  'S3 requests made to fail',
  'processes',
  'uploads',
  'deletions',
  'reads',
  'quota changes',
  'quota samples',
  'sign-ups',
  'checks',
];

/** All that was counted, as tables for people. */
export function report(tally: Tally, seconds: number): string {
  const lines: string[] = [];
  for (const table of TABLES) {
    const rows = tally.rows(table);
    if (rows.length === 0) continue;
    const total = rows.reduce((sum, [, count]) => sum + count, 0);
    const isSum = table === 'faults' || table === 'named points' || table === 'S3 requests made to fail';
    lines.push('', isSum ? `${table} (${total})` : table);
    for (const [row, count] of rows)
      lines.push(`  ${row.padEnd(62)} ${count.toLocaleString('en').padStart(15)}`);
  }
  const { violations } = tally;
  lines.push('', `violations: ${violations.length}`, ...violations.map((violation) => `  ${violation}`));
  lines.push('', `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`);
  return lines.join('\n');
}
