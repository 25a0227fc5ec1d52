import { Compile } from 'typebox/compile';
import { AppError } from '../errors/app-error.ts';
import { JOB_TYPES, type JobName, type JobPayload } from './job-types.ts';

const validators = new Map(
  Object.entries(JOB_TYPES).map(([name, type]) => [name, Compile(type.payload)] as const),
);

export function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOB_TYPES, name);
}

/**
 * Checks what came out of the queue: it may have been written by an older or a newer version, or by hand.
 *
 * @throws {AppError} JOB_MALFORMED, naming what is wrong
 */
export function parsePayload<N extends JobName>(name: N, payload: unknown): JobPayload<N> {
  const validator = validators.get(name);
  if (validator?.Check(payload)) {
    // The validator was compiled from the very schema that JobPayload<N> is derived from.
    return payload as JobPayload<N>;
  }
  const faults = validator?.Errors(payload).map((fault) => `${fault.instancePath || '/'} ${fault.message}`);
  throw new AppError('JOB_MALFORMED', `The payload of ${name} is malformed: ${faults?.join('; ')}`);
}
