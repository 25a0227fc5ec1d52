import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { CheckDeps } from './audit-deps.ts';
import { compareObjects, type DescribedObject, describeFault } from './compare-objects.ts';
import type { Violation } from './findings.ts';

const PAGE = 1_000;

interface Original extends DescribedObject {
  readonly fileId: string;
}

/**
 * I1, and I5 from rows to objects: every stored file's original is there, has its size, and (deep) its hash. Files
 * are taken in the order of their keys, so that an S3 server can answer for a thousand at once.
 */
export async function checkOriginals(deps: CheckDeps): Promise<void> {
  const { db, book, report, signal } = deps;
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const page = await readOriginals(db, after);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.key;
    book.checked('I1', page.length);
    book.checked('I5', page.length);
    const faults = await compareObjects(deps, page);
    if (faults.length === 0) continue;
    // After the object was missed: a deletion marks its row before it removes the object.
    const stored = await stillStored(
      db,
      faults.map(({ row }) => row.fileId),
    );
    await report(
      faults
        .filter(({ row }) => stored.has(row.fileId))
        .flatMap(({ row, fault }): Violation[] => {
          const subject = `file ${row.fileId}`;
          const unreadable: Violation = { invariant: 'I1', subject, fault: describeFault(row, fault) };
          if (fault.kind !== 'missing') return [unreadable];
          const remedy = { kind: 'restore-original', fileId: row.fileId } as const;
          return [
            { ...unreadable, remedy },
            { ...unreadable, remedy, invariant: 'I5' },
          ];
        }),
    );
  }
}

async function readOriginals(db: Db, after: string): Promise<Original[]> {
  const { rows } = await sql<Original>`
    SELECT id AS "fileId", object_key AS key, size_bytes AS "sizeBytes", sha256 FROM files
    WHERE object_key > ${after} AND state = 'stored'
    ORDER BY object_key LIMIT ${PAGE}`.execute(db);
  return rows;
}

async function stillStored(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('files')
    .select('id')
    .where('id', 'in', [...ids])
    .where('state', '=', 'stored')
    .execute();
  return new Set(rows.map((row) => row.id));
}
