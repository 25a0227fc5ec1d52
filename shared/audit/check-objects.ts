import { isObjectKey } from '../objects/object-keys.ts';
import type { ListedObject } from '../objects/object-store.ts';
import type { CheckDeps } from './audit-deps.ts';
import type { Violation } from './findings.ts';
import { OBJECT_PREFIXES, type ObjectPrefix, unknownKeys } from './known-keys.ts';

const PAGE = 1_000;

/**
 * I5 from objects to rows: every object that is older than two sweeps has a row. The store is listed outside of any
 * transaction; for each page the database is asked once.
 */
export async function checkObjects(deps: CheckDeps): Promise<void> {
  for (const prefix of OBJECT_PREFIXES) {
    let page: ListedObject[] = [];
    for await (const object of deps.store.list(prefix)) {
      deps.signal.throwIfAborted();
      page.push(object);
      if (page.length < PAGE) continue;
      await checkPage(deps, prefix, page);
      page = [];
    }
    if (page.length > 0) await checkPage(deps, prefix, page);
  }
}

async function checkPage(
  { db, store, windows, book, report }: CheckDeps,
  prefix: ObjectPrefix,
  page: readonly ListedObject[],
): Promise<void> {
  book.checked('I5', page.length);
  const settledBefore = Date.now() - 2 * (windows.sweepMs + windows.secondPassMs);
  const settled = new Map(
    page
      .filter((object) => object.modifiedAt.getTime() < settledBefore)
      .map((object) => [object.key, object]),
  );
  const foreign = [...settled.keys()].filter((key) => !isObjectKey(key));
  await report(
    foreign.map((key) => ({ invariant: 'I5', subject: `object ${key}`, fault: 'is not of Stowage' })),
  );
  for (const key of foreign) settled.delete(key);
  const suspects = await unknownKeys(db, prefix, [...settled.keys()]);
  if (suspects.length === 0) return;
  // The row may have gone after the object was listed, and the object before it.
  const sizes = await store.sizes(suspects);
  const there = suspects.filter((key) => sizes.has(key));
  const confirmed = new Set(await unknownKeys(db, prefix, there));
  await report(
    [...settled.values()]
      .filter(({ key }) => confirmed.has(key))
      .map(
        ({ key, modifiedAt }): Violation => ({
          invariant: 'I5',
          subject: `object ${key}`,
          fault: `no row knows of it; it is of ${modifiedAt.toISOString()}`,
          remedy: { kind: 'quarantine', key, modifiedAt },
        }),
      ),
  );
}
