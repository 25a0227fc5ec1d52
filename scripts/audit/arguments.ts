import { parseArgs } from 'node:util';

export const USAGE = `Usage: npm run audit -- [--deep] [--repair [--orphan-age HOURS]] [--json]

Checks on the running system that nothing is lost and nothing miscounted: database, object store and queue.
  --deep              read all bytes again, and compare their hashes
  --repair            mend what can be mended safely; without it nothing is changed
  --orphan-age HOURS  objects that no row knows of are moved under quarantine/ when they are older; default 24
  --json              print the result as JSON
  --help              print this

Exit status: 0 all in order (or mended), 1 violations, 2 it could not be checked.

It works on DATABASE_URL, REDIS_URL, S3_… as a process does, or on the embedded parts of DATA_DIR while npm start runs.
Give it the same THUMBNAIL_WIDTHS as the workers.`;

/** What was typed cannot be understood. */
export class UsageError extends Error {}

export interface Arguments {
  readonly help: boolean;
  readonly deep: boolean;
  readonly repair: boolean;
  readonly json: boolean;
  readonly orphanAgeHours: number;
}

const DEFAULT_ORPHAN_AGE_HOURS = '24';

/** @throws {UsageError} that says what is wrong */
export function parseArguments(args: readonly string[]): Arguments {
  const values = parse(args);
  const given = values['orphan-age'];
  const orphanAgeHours = Number(given ?? DEFAULT_ORPHAN_AGE_HOURS);
  if (given === '' || !Number.isFinite(orphanAgeHours) || orphanAgeHours < 0)
    throw new UsageError(`--orphan-age must be a number of hours, not ${JSON.stringify(given)}.`);
  const { help = false, deep = false, repair = false, json = false } = values;
  if (given !== undefined && !repair) throw new UsageError('--orphan-age is for --repair.');
  return { help, deep, repair, json, orphanAgeHours };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        deep: { type: 'boolean' },
        repair: { type: 'boolean' },
        'orphan-age': { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
