import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { RenderState } from '../database/schema.ts';
import { contentTypeOf, PICTURE_FORMATS, pictureFormatOf } from '../images/picture-format.ts';
import { configuredVariants, renderedSet, variantKey } from '../images/variant-settings.ts';
import type { CheckDeps } from './audit-deps.ts';
import type { Violation } from './findings.ts';

const PAGE = 2_000;
/** Lost renders that are listed one by one; more are counted. */
const MOST_LISTED = 10_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface Picture {
  readonly id: string;
  readonly content_type: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly render_state: RenderState;
  readonly render_error: string | null;
  readonly rendered_set: string | null;
  readonly keys: readonly string[];
}

/**
 * I4: every picture has all configured variants, or is given up with the reason, or waits for its job. Resolves to
 * the number of pictures that were rendered for another configuration: they are rendered again in small batches,
 * behind all others, so that is no fault.
 */
export async function checkPictures(snapshot: Db, deps: CheckDeps): Promise<number> {
  const { book, report, signal, thumbnailWidths } = deps;
  const set = renderedSet(thumbnailWidths);
  await checkLostRenders(snapshot, deps);
  let outdated = 0;
  for (let after = FIRST_ID; ; ) {
    signal.throwIfAborted();
    const page = await readPictures(snapshot, after);
    const last = page.at(-1);
    if (last === undefined) return outdated;
    after = last.id;
    book.checked('I4', page.length);
    outdated += page.filter((picture) => isOutdated(picture, set)).length;
    await report(
      page.flatMap((picture): Violation[] => {
        const fault = faultOf(picture, set, thumbnailWidths);
        if (fault === undefined) return [];
        const remedy = { kind: 'render', fileId: picture.id } as const;
        return [{ invariant: 'I4', subject: `file ${picture.id}`, fault, remedy }];
      }),
    );
  }
}

function isOutdated({ render_state, rendered_set }: Picture, set: string): boolean {
  return render_state === 'rendered' && rendered_set !== set;
}

function faultOf(picture: Picture, set: string, widths: readonly number[]): string | undefined {
  const { id, content_type, width, height, render_state, render_error, rendered_set } = picture;
  switch (render_state) {
    case 'pending':
      return undefined;
    case 'none':
      return `is ${content_type} and was never queued to be rendered`;
    case 'failed':
      return render_error ? undefined : 'was given up without a reason';
    case 'rendered': {
      if (rendered_set !== set) return undefined;
      const format = pictureFormatOf(content_type);
      if (format === undefined || width === null || height === null) return 'was rendered, and has no size';
      const there = new Set(picture.keys);
      const missing = configuredVariants({ width, height }, format, widths).filter(
        (variant) => !there.has(variantKey(id, variant.width, variant.format)),
      );
      if (missing.length === 0) return undefined;
      return `has no variant ${missing.map((variant) => `${variant.width} ${variant.format}`).join(', ')}`;
    }
  }
}

/** Variants are found for each picture of the page through their primary key. */
async function readPictures(snapshot: Db, after: string): Promise<Picture[]> {
  const { rows } = await sql<Picture>`
    SELECT f.id, f.content_type, f.width, f.height, f.render_state, f.render_error, f.rendered_set,
      CASE WHEN f.render_state = 'rendered'
        THEN ARRAY(SELECT v.object_key FROM variants v WHERE v.file_id = f.id) ELSE '{}' END AS keys
    FROM files f
    WHERE f.id > ${after}::uuid AND f.state = 'stored'
      AND (f.render_state <> 'none' OR f.content_type = ANY(${PICTURE_FORMATS.map(contentTypeOf)}::text[]))
    ORDER BY f.id LIMIT ${PAGE}`.execute(snapshot);
  return rows;
}

async function checkLostRenders(snapshot: Db, { book, report, windows }: CheckDeps): Promise<void> {
  const { rows } = await sql<{ id: string; total: number }>`
    SELECT f.id, count(*) OVER ()::int4 AS total FROM files f
    WHERE f.render_state = 'pending' AND f.state = 'stored'
      AND f.created_at < now() - ${windows.renderGraceMs + windows.sweepMs}::float8 * interval '1 millisecond'
      AND NOT EXISTS (
        SELECT FROM outbox o
        WHERE o.name = 'render-thumbnails' AND o.failed_at IS NULL AND o.payload->>'fileId' = f.id::text
      )
    LIMIT ${MOST_LISTED}`.execute(snapshot);
  book.violatedBeyond('I4', (rows[0]?.total ?? 0) - rows.length);
  await report(
    rows.map(({ id }) => ({
      invariant: 'I4',
      subject: `file ${id}`,
      fault: 'waits for a render that has no job',
      remedy: { kind: 'render', fileId: id },
    })),
  );
}
