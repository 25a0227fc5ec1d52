import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { completeJob } from '../outbox/complete-job.ts';

/** A variant whose object is durable. */
export interface WrittenVariant {
  readonly width: number;
  readonly height: number;
  readonly format: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface FinishedRender {
  readonly jobId: string;
  readonly fileId: string;
  /** The size of the upright original, for a file whose header could not be read when it came. */
  readonly width: number;
  readonly height: number;
  /** Names the set that was made, as `renderedSet` gives it. */
  readonly renderedSet: string;
  readonly variants: readonly WrittenVariant[];
}

/** `gone`: the file is being deleted, so the caller removes what it wrote. */
export type FinishRenderOutcome =
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'finished';
      /** Objects of variants that are no longer in the set, or were replaced: for the caller to remove. */
      readonly replacedKeys: readonly string[];
    };

/** The file has its variants, its owner one render less to wait for, and the job is done: in one transaction. */
export async function finishRender(db: Db, render: FinishedRender): Promise<FinishRenderOutcome> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ replaced: string[] }>`
      WITH finished AS (
        UPDATE files SET render_state = 'rendered', rendered_set = ${render.renderedSet}, render_error = NULL,
          render_attempts = 0, width = coalesce(width, ${render.width}), height = coalesce(height, ${render.height})
        WHERE id = ${render.fileId}::uuid AND state = 'stored'
        RETURNING id, user_id, old.render_state AS render_state_before
      ), freed AS (
        UPDATE quotas q SET renders_outstanding = greatest(q.renders_outstanding - 1, 0)
        FROM finished WHERE q.user_id = finished.user_id AND finished.render_state_before = 'pending'
      ), made AS (
        SELECT finished.id AS file_id, v.*
        FROM finished, jsonb_to_recordset(${JSON.stringify(render.variants)}::jsonb) AS v (width int, height int,
          format text, "objectKey" text, "sizeBytes" bigint, sha256 text)
      ), written AS (
        INSERT INTO variants (file_id, width, height, format, object_key, size_bytes, sha256)
        SELECT file_id, width, height, format, "objectKey", "sizeBytes", sha256 FROM made
        ON CONFLICT (file_id, width, format) DO UPDATE SET height = excluded.height,
          object_key = excluded.object_key, size_bytes = excluded.size_bytes, sha256 = excluded.sha256
        RETURNING old.object_key AS key_before, new.object_key AS key_now
      ), dropped AS (
        DELETE FROM variants x USING finished
        WHERE x.file_id = finished.id
          AND NOT EXISTS (SELECT FROM made WHERE made.width = x.width AND made.format = x.format)
        RETURNING x.object_key
      )
      SELECT coalesce((SELECT array_agg(key_before) FROM written WHERE key_before <> key_now), '{}')
        || coalesce((SELECT array_agg(object_key) FROM dropped), '{}') AS replaced
      FROM finished`.execute(trx);
    await completeJob(trx, render.jobId);
    const row = rows[0];
    return row === undefined ? { kind: 'gone' } : { kind: 'finished', replacedKeys: row.replaced };
  });
}
