import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

/** Kinds of rounds: each is run on its own, then all of them mixed. */
export const ROUND_KINDS = [
  'points',
  'kill',
  'term',
  'flush',
  'network',
  's3',
  'disk',
  'pause',
  'mixed',
] as const;
export type RoundKind = (typeof ROUND_KINDS)[number];

export interface CrashOptions {
  readonly seed: string;
  /** How long to make trouble, with the checks after each round. */
  readonly minutes: number;
  /** The named points and one mixed round: what CI has time for. */
  readonly short: boolean;
  readonly kinds: readonly RoundKind[];
  /** Keeps the folder of the run (logs, database, objects) when there was no violation either. */
  readonly keep: boolean;
}

export const USAGE = `Usage: npm run test:crash -- [--short] [--minutes N] [--seed TEXT] [--faults ${ROUND_KINDS.join(',')}] [--keep]`;

/** @throws {Error} with a text for people */
export function parseCrashOptions(args: string[]): CrashOptions {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
      minutes: { type: 'string', default: '20' },
      short: { type: 'boolean', default: false },
      faults: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0. ${USAGE}`);
  const asked = values.faults === '' ? [] : values.faults.split(',');
  const unknown = asked.filter((kind) => !ROUND_KINDS.some((known) => known === kind));
  if (unknown.length > 0) throw new Error(`--faults: there is no ${unknown.join(', ')}. ${USAGE}`);
  const defaults: readonly RoundKind[] = values.short ? ['points', 'mixed'] : ROUND_KINDS;
  const kinds = asked.length === 0 ? defaults : ROUND_KINDS.filter((kind) => asked.includes(kind));
  return { seed: values.seed, minutes, short: values.short, kinds, keep: values.keep };
}
