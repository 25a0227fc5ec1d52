import type { ByteRange } from '@stowage/shared/objects/object-store.ts';

/** `whole`: there is no range, or one that is to be ignored. */
export type RequestedRange = ByteRange | 'whole' | 'unsatisfiable';

const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * Reads a Range header by RFC 9110, 14.1.2. Other units, malformed ranges and several ranges at once are ignored,
 * as 14.2 allows; so one request never costs more than the whole file.
 * @param size of the representation, in bytes
 */
export function parseRange(header: string | undefined, size: number): RequestedRange {
  const [matched, first, last, suffix] = ONE_RANGE.exec(header ?? '') ?? [];
  if (matched === undefined) return 'whole';
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === undefined || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== undefined && last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}
