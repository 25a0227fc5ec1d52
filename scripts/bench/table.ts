import { isMet, type Line, ratioOf, type Target } from './line.ts';

const HEADER = ['what', 'unit', 'ours', 'counterpart', 'ratio', 'target', 'met'];

/** The lines as a Markdown table whose columns also line up in a terminal. */
export function formatTable(lines: readonly Line[]): string {
  const rows = [HEADER, ...lines.map(cells)];
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const shown = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`);
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [shown[0], rule, ...shown.slice(1)].join('\n');
}

function cells(line: Line): string[] {
  const { counterpart, target } = line;
  const ratio = ratioOf(line);
  const met = isMet(line);
  return [
    line.note === undefined ? line.what : `${line.what} (${line.note})`,
    line.unit,
    formatNumber(line.ours),
    counterpart === undefined ? '' : `${formatNumber(counterpart.value)} ${counterpart.name}`,
    ratio === undefined ? '' : `${formatNumber(ratio)}×`,
    target === undefined ? '' : formatTarget(target, ratio === undefined ? '' : '×'),
    met === undefined ? '' : met ? 'yes' : 'NO',
  ];
}

function formatTarget({ atMost, atLeast }: Target, sign: string): string {
  const bounds = [];
  if (atLeast !== undefined) bounds.push(`≥ ${formatNumber(atLeast)}${sign}`);
  if (atMost !== undefined) bounds.push(`≤ ${formatNumber(atMost)}${sign}`);
  return bounds.join(', ');
}

/** Three digits that count; whole numbers as they are. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'none';
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
