import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { ROOM } from './room.ts';
import { answerOf, type UploadedFile } from './uploaded-file.ts';

/** An upload all of whose bytes are durable in the object store. */
export interface FinishedUpload {
  readonly id: string;
  readonly files: readonly UploadedFile[];
  readonly idempotencyKey: string | null;
  /** Travels into the jobs that the upload causes. */
  readonly requestId: string | null;
}

export interface FinishUploads {
  readonly userId: string;
  readonly uploads: readonly FinishedUpload[];
  /** How long charges gather before they are posted to the ledger in one job. */
  readonly postingDelayMs: number;
}

/**
 * `settled` holds the ids of the uploads that are finished; one that is missing had lost its lease. With `no-room`
 * nothing has changed: what arrived is more than was reserved, and the rest did not fit.
 */
export type FinishOutcome =
  | { readonly kind: 'settled'; readonly ids: readonly string[] }
  | { readonly kind: 'no-room' };

/** BullMQ takes priorities up to 2^21; beyond this many waiting pictures of one user there is nothing to tell apart. */
const LOWEST_PRIORITY = 1_000_000;

/**
 * The second of an upload's two statements: the intent goes, the files exist, the reservation becomes stored bytes,
 * and the jobs are in the outbox — for each upload of the batch that still holds its lease. Its error says nothing
 * about whether it was committed: ask `isUploadFinished`.
 */
export async function finishUploads(
  db: Db,
  { userId, uploads, postingDelayMs }: FinishUploads,
): Promise<FinishOutcome> {
  const finished = JSON.stringify(uploads.map(finishedRow));
  const incoming = JSON.stringify(
    uploads.flatMap((upload) => upload.files.map((file) => fileRow(upload.id, file))),
  );
  const { rows } = await sql<{ open: string[]; charged: boolean }>`
    WITH open AS (
      SELECT u.id, u.reserved_bytes, f.size, f.renders, f.key, f.answer, f.request_id
      FROM uploads u
      JOIN jsonb_to_recordset(${finished}::jsonb)
        AS f (id uuid, size bigint, renders int, key text, answer jsonb, request_id text) ON f.id = u.id
      WHERE u.user_id = ${userId}::uuid AND u.state = 'open' ORDER BY u.id FOR UPDATE OF u
    ), totals AS (
      SELECT coalesce(sum(reserved_bytes), 0)::bigint AS reserved, coalesce(sum(size), 0)::bigint AS size,
        coalesce(sum(renders), 0)::int AS renders, count(*) AS uploads
      FROM open
    ), charged AS (
      UPDATE quotas q SET reserved_bytes = q.reserved_bytes - t.reserved,
        stored_bytes = q.stored_bytes + t.size, renders_outstanding = q.renders_outstanding + t.renders
      FROM totals t
      WHERE q.user_id = ${userId}::uuid AND t.uploads > 0
        AND (t.size <= t.reserved OR t.size - t.reserved <= ${ROOM})
      RETURNING q.user_id, q.renders_outstanding - t.renders AS renders_before
    ), closed AS (
      DELETE FROM uploads u USING open, charged WHERE u.id = open.id
    ), incoming AS (
      SELECT f.*, open.request_id
      FROM jsonb_to_recordset(${incoming}::jsonb) AS f (upload_id uuid, id uuid, stem text,
        extension text, object_key text, content_type text, size_bytes bigint, sha256 text, original_name text,
        width int, height int, render_state text)
      JOIN open ON open.id = f.upload_id
    ), stored AS (
      INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, original_name,
        width, height, render_state)
      SELECT i.id, i.stem, i.extension, charged.user_id, i.object_key, i.content_type, i.size_bytes, i.sha256,
        i.original_name, i.width, i.height, i.render_state
      FROM incoming i, charged
    ), renders AS (
      INSERT INTO outbox (queue, name, payload, priority, request_id)
      SELECT 'thumbnails', 'render-thumbnails', jsonb_build_object('v', 1, 'fileId', i.id),
        least(charged.renders_before + row_number() OVER (ORDER BY i.id), ${LOWEST_PRIORITY}), i.request_id
      FROM incoming i, charged WHERE i.render_state = 'pending'
    ), ${postUsage(postingDelayMs)}, answers AS (
      INSERT INTO idempotency_keys AS k (user_id, key, files)
      SELECT charged.user_id, open.key, open.answer FROM open, charged WHERE open.key IS NOT NULL
      ON CONFLICT (user_id, key) DO UPDATE SET files = excluded.files, created_at = now()
    )
    SELECT coalesce((SELECT array_agg(id) FROM open), '{}') AS open, EXISTS (SELECT FROM charged) AS charged`.execute(
    db,
  );
  const row = rows[0];
  if (row === undefined || row.open.length === 0) return { kind: 'settled', ids: [] };
  return row.charged ? { kind: 'settled', ids: row.open } : { kind: 'no-room' };
}

/**
 * One job posts all unposted charges of a user, so a job in the outbox that no relay has taken yet does for this
 * charge too. It is locked: it cannot be taken, hence not run, before this charge is committed. When it was taken
 * in the meantime, the lock finds that out and a new one is made. Taking a row moves `publish_after` forward,
 * whereas `publishes` is counted only later.
 */
function postUsage(delayMs: number) {
  const delay = sql`${delayMs}::float8 * interval '1 millisecond'`;
  return sql`waiting_posting AS (
      SELECT o.id FROM outbox o
      WHERE o.name = 'post-usage' AND o.payload->>'userId' = (SELECT user_id::text FROM charged)
        AND o.publishes = 0 AND o.failed_at IS NULL AND o.publish_after <= o.created_at + ${delay}
      LIMIT 1 FOR UPDATE
    ), posting AS (
      INSERT INTO outbox (queue, name, payload, request_id, publish_after)
      SELECT 'quota-accounting', 'post-usage', jsonb_build_object('v', 1, 'userId', user_id),
        (SELECT request_id FROM open LIMIT 1), now() + ${delay}
      FROM charged WHERE NOT EXISTS (SELECT FROM waiting_posting)
    )`;
}

function finishedRow(upload: FinishedUpload) {
  return {
    id: upload.id,
    size: upload.files.reduce((sum, file) => sum + file.sizeBytes, 0),
    renders: upload.files.filter((file) => file.renderState === 'pending').length,
    key: upload.idempotencyKey,
    answer: upload.idempotencyKey === null ? null : upload.files.map(answerOf),
    request_id: upload.requestId,
  };
}

function fileRow(uploadId: string, file: UploadedFile) {
  return {
    upload_id: uploadId,
    id: file.id,
    stem: file.stem,
    extension: file.extension,
    object_key: file.objectKey,
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    sha256: file.sha256,
    original_name: file.originalName,
    width: file.width,
    height: file.height,
    render_state: file.renderState,
  };
}
