import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { CheckDeps } from './audit-deps.ts';
import { compareObjects, type DescribedObject, describeFault } from './compare-objects.ts';
import type { Violation } from './findings.ts';
import type { Remedy } from './remedy.ts';

const PAGE = 1_000;

interface StoredVariant extends DescribedObject {
  readonly fileId: string;
  readonly width: number;
  readonly format: string;
  /** Whether its picture was given up: then it cannot be rendered again. */
  readonly givenUp: boolean;
}

type Place = Pick<StoredVariant, 'fileId' | 'width' | 'format'>;

/** I5 from rows to objects, and I4: every variant's object is there, has its size, and (deep) its hash. */
export async function checkVariants(deps: CheckDeps): Promise<void> {
  const { db, book, report, signal } = deps;
  let after: Place = { fileId: '00000000-0000-0000-0000-000000000000', width: 0, format: '' };
  for (;;) {
    signal.throwIfAborted();
    const page = await readVariants(db, after);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last;
    book.checked('I5', page.length);
    const faults = await compareObjects(deps, page);
    if (faults.length === 0) continue;
    // After the object was missed: rows change before the objects of replaced variants go.
    const listed = await stillListed(
      db,
      faults.map(({ row }) => row),
    );
    await report(
      faults
        .filter(({ row }) => listed.has(row.key))
        .map(
          ({ row, fault }): Violation => ({
            invariant: fault.kind === 'missing' ? 'I5' : 'I4',
            subject: `variant ${row.width} ${row.format} of file ${row.fileId}`,
            fault: describeFault(row, fault),
            remedy: remedyFor(row),
          }),
        ),
    );
  }
}

function remedyFor({ fileId, key, givenUp }: StoredVariant): Remedy {
  return givenUp ? { kind: 'forget-variant', fileId, key } : { kind: 'render', fileId };
}

/** A picture that is being rendered again gets all its variants anew, so those are left out. */
async function readVariants(db: Db, { fileId, width, format }: Place): Promise<StoredVariant[]> {
  const { rows } = await sql<StoredVariant>`
    SELECT v.file_id AS "fileId", v.width, v.format, v.object_key AS key, v.size_bytes AS "sizeBytes", v.sha256,
      f.render_state = 'failed' AS "givenUp"
    FROM variants v JOIN files f ON f.id = v.file_id AND f.state = 'stored' AND f.render_state <> 'pending'
    WHERE (v.file_id, v.width, v.format) > (${fileId}::uuid, ${width}::int4, ${format})
    ORDER BY v.file_id, v.width, v.format LIMIT ${PAGE}`.execute(db);
  return rows;
}

async function stillListed(db: Db, variants: readonly StoredVariant[]): Promise<Set<string>> {
  const ids = variants.map((variant) => variant.fileId);
  const keys = variants.map((variant) => variant.key);
  const { rows } = await sql<{ key: string }>`
    SELECT v.object_key AS key
    FROM variants v JOIN files f ON f.id = v.file_id AND f.state = 'stored' AND f.render_state <> 'pending'
    WHERE v.file_id = ANY(${ids}::uuid[]) AND v.object_key = ANY(${keys}::text[])`.execute(db);
  return new Set(rows.map((row) => row.key));
}
