import type { ListedObject } from '../object-store.ts';

/** Objects that are listed for each key, at most; and at least, since so many come in one answer. */
const MOST_LISTED_PER_KEY = 4;
const LISTED_IN_ONE_ANSWER = 1_000;

export interface SizesSource {
  /** Objects under the prefix whose keys come after `after`, in the order of their keys. */
  readonly list: (prefix: string, after: string) => AsyncIterable<ListedObject>;
  readonly head: (key: string) => Promise<number | undefined>;
}

/**
 * Finds the sizes of keys by listing the stretch of the bucket that they lie in, which is one request for a
 * thousand objects. Where too much lies between them it asks for each.
 */
export async function sizesByListing(
  source: SizesSource,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const wanted = keys.toSorted();
  const [first = '', last = ''] = [wanted[0], wanted.at(-1)];
  const prefix = commonFolder(first, last);
  let reached = '';
  // Keys without a folder in common, or a single one, are not worth a listing.
  if (prefix !== '' && wanted.length > 1) {
    const all = new Set(wanted);
    let budget = Math.max(wanted.length * MOST_LISTED_PER_KEY, LISTED_IN_ONE_ANSWER);
    // The listing begins behind a key that comes before the first one.
    for await (const { key, sizeBytes } of source.list(prefix, first.slice(0, -1))) {
      if (all.has(key)) found.set(key, sizeBytes);
      reached = key;
      budget -= 1;
      if (key >= last || budget === 0) break;
    }
    if (budget > 0) return found;
  }
  for (const key of wanted) {
    if (key <= reached) continue;
    const size = await source.head(key);
    if (size !== undefined) found.set(key, size);
  }
  return found;
}

/** The longest prefix of both that ends in `/`; empty when they have no folder in common. */
function commonFolder(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, a.lastIndexOf('/', length - 1) + 1);
}
