import { parseArgs } from 'node:util';
import { QUEUE_NAMES, type QueueName } from '@stowage/shared/queues/job-types.ts';

export const USAGE = `Usage: npm run requeue -- [--failed] [--queue NAME]

Lists the jobs that failed for good, and the pictures whose thumbnails were given up.
  --failed      try them all again
  --queue NAME  only those of one queue: ${QUEUE_NAMES.join(', ')}
  --help        print this

It works on DATABASE_URL, or on the embedded database of DATA_DIR while npm start runs.`;

/** What was typed cannot be understood. */
export class UsageError extends Error {}

export interface Arguments {
  readonly help: boolean;
  readonly failed: boolean;
  readonly queue: QueueName | undefined;
}

/** @throws {UsageError} that says what is wrong */
export function parseArguments(args: readonly string[]): Arguments {
  const values = parse(args);
  const queue = QUEUE_NAMES.find((name) => name === values.queue);
  if (values.queue !== undefined && queue === undefined)
    throw new UsageError(
      `There is no queue ${JSON.stringify(values.queue)}. There are ${QUEUE_NAMES.join(', ')}.`,
    );
  return { help: values.help ?? false, failed: values.failed ?? false, queue };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        failed: { type: 'boolean' },
        queue: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
