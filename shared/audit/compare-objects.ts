import pLimit from 'p-limit';
import type { CheckDeps } from './audit-deps.ts';
import { readAndHash } from './read-and-hash.ts';

/** A row that says what an object is like. */
export interface DescribedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export type ObjectFault =
  | { readonly kind: 'missing' }
  | { readonly kind: 'size'; readonly sizeBytes: number }
  | { readonly kind: 'hash'; readonly sha256: string };

/** Objects that are read at once by a deep audit. */
const READS_AT_ONCE = 4;

/**
 * Compares a page of rows with the object store, by size and, when the audit is deep, by hash. What looks wrong is
 * looked at a second time on its own. Its row may have gone meanwhile: that is for the caller to see, afterwards.
 */
export async function compareObjects<R extends DescribedObject>(
  { store, deep, signal }: Pick<CheckDeps, 'store' | 'deep' | 'signal'>,
  rows: readonly R[],
): Promise<{ row: R; fault: ObjectFault }[]> {
  const sizes = await store.sizes(rows.map((row) => row.key));
  const compared = await pLimit(READS_AT_ONCE).map(rows, async (row) => {
    signal.throwIfAborted();
    const size = sizes.get(row.key) === row.sizeBytes ? row.sizeBytes : await store.head(row.key, { signal });
    const fault = sizeFault(row, size) ?? (deep ? await hashFault(row) : undefined);
    return fault === undefined ? [] : [{ row, fault }];
  });
  return compared.flat();

  async function hashFault(row: R): Promise<ObjectFault | undefined> {
    let sha256 = await readAndHash(store, row.key, signal);
    if (sha256 !== row.sha256) sha256 = await readAndHash(store, row.key, signal);
    if (sha256 === undefined) return { kind: 'missing' };
    return sha256 === row.sha256 ? undefined : { kind: 'hash', sha256 };
  }
}

function sizeFault(row: DescribedObject, size: number | undefined): ObjectFault | undefined {
  if (size === undefined) return { kind: 'missing' };
  return size === row.sizeBytes ? undefined : { kind: 'size', sizeBytes: size };
}

export function describeFault(row: DescribedObject, fault: ObjectFault): string {
  switch (fault.kind) {
    case 'missing':
      return `its object ${row.key} is missing`;
    case 'size':
      return `its object ${row.key} has ${fault.sizeBytes} bytes instead of ${row.sizeBytes}`;
    case 'hash':
      return `its object ${row.key} has the hash ${fault.sha256} instead of ${row.sha256}`;
  }
}
