import { AppError } from '../errors/app-error.ts';

/** Longest key in characters: far below S3's 1,024, and short enough for any file system path. */
const MAX_KEY_LENGTH = 512;

// A segment never starts with a dot: so there is no `.` or `..`, and the temporary files of the filesystem
// adapter (`.unfinished-…`) can never be named by a key. 128 characters stay below every file system's limit.
const SEGMENT = '[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}';
const KEY = new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`);
const PREFIX = new RegExp(`^(?:${SEGMENT}/)+$`);

/** Whether this can be a key of ours. A bucket may hold others, which somebody else put there. */
export function isObjectKey(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && KEY.test(key);
}

/** Throws `INTERNAL` when the key is not safe: keys are made by our own code, never by a caller. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) {
    throw new AppError('INTERNAL', 'This is not an object key.', { cause: new Error(JSON.stringify(key)) });
  }
}

/** Throws `INTERNAL` unless the prefix is whole segments, each with its `/`: `a/` must never match `ab/`. */
export function assertObjectPrefix(prefix: string): void {
  if (prefix.length > MAX_KEY_LENGTH || !PREFIX.test(prefix)) {
    throw new AppError('INTERNAL', 'This is not an object key prefix.', {
      cause: new Error(JSON.stringify(prefix)),
    });
  }
}
