import { randomUUID } from 'node:crypto';
import type { Database } from '@stowage/shared/database/schema.ts';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import { adjustQuota } from '@stowage/shared/quota/adjust-quota.ts';
import { requeuePostings } from '@stowage/shared/quota/requeue-postings.ts';
import { findPendingRender } from '@stowage/shared/renders/find-pending-render.ts';
import { finishRender } from '@stowage/shared/renders/finish-render.ts';
import { finishUploads } from '@stowage/shared/uploads/finish-upload.ts';
import { isUploadFinished } from '@stowage/shared/uploads/is-upload-finished.ts';
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listFiles } from '../../apps/api/src/files/list-files.ts';
import { createFileLookUp } from '../../apps/api/src/files/look-up-file.ts';
import { showFile } from '../../apps/api/src/files/show-file.ts';
import { requireSession } from '../../apps/api/src/http/authenticate.ts';
import { readQuota } from '../../apps/api/src/quota/read-quota.ts';
import { claimDueJobs } from '../../shared/outbox/claim-due-jobs.ts';
import { beginUploads } from '../../shared/uploads/begin-upload.ts';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';

const FILES = 100_000;
/** Tables that grow with use. A statement of everyday work that reads one of them whole gets slower every day. */
const GROWING = [
  'users',
  'sessions',
  'quotas',
  'files',
  'variants',
  'outbox',
  'ledger_entries',
  'quota_adjustments',
];

let test: TestDatabase;
let pool: pg.Pool;
let db: Kysely<Database>;
let statements: CompiledQuery[] = [];
let user: string;
let session: string;
let fileId: string;
let stem: string;

beforeAll(async () => {
  test = await openTestDatabase();
  pool = new pg.Pool({ connectionString: test.url, max: 2 });
  db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log: (event) => void statements.push(event.query),
  });
  await fill();
  const file = await db
    .selectFrom('files')
    .select(['id', 'stem', 'user_id'])
    .limit(1)
    .executeTakeFirstOrThrow();
  [fileId, stem, user] = [file.id, file.stem, file.user_id];
  const row = await db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', user)
    .executeTakeFirstOrThrow();
  session = row.id;
}, 120_000);

afterAll(async () => {
  await pool.end();
  await test.close();
});

/** 1,000 users; half of all files belong to ten of them; a tenth of the files still waits for its render. */
async function fill(): Promise<void> {
  await sql`INSERT INTO users (email, username) SELECT 'u' || n || '@example.com', 'u' || n
    FROM generate_series(1, 1000) n`.execute(db);
  await sql`INSERT INTO quotas (user_id, max_bytes, stored_bytes, renders_outstanding)
    SELECT id, 1000000000000, 1000000, 1000 FROM users`.execute(db);
  await sql`INSERT INTO sessions (id, user_id, idle_expires_at, expires_at)
    SELECT gen_random_uuid(), id, now() + interval '7 days', now() + interval '30 days'
    FROM users, generate_series(1, 10)`.execute(db);
  await sql`INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, created_at,
      posted_at, render_state, rendered_set, width, height)
    SELECT gen_random_uuid(), md5('stem' || n), 'jpg', ids[1 + CASE WHEN n % 2 = 0 THEN n % 10 ELSE n % 1000 END],
      'originals/' || md5('key' || n) || '/0', 'image/jpeg', 1000, repeat('0', 64), now() - make_interval(secs => n),
      CASE WHEN n % 100 = 0 THEN NULL ELSE now() END, CASE WHEN n % 10 = 0 THEN 'pending' ELSE 'rendered' END,
      CASE WHEN n % 10 = 0 THEN NULL ELSE 'set' END, 100, 100
    FROM generate_series(1, ${FILES}) n, (SELECT array_agg(id) AS ids FROM users) u`.execute(db);
  await sql`INSERT INTO variants (file_id, width, height, format, object_key, size_bytes, sha256)
    SELECT id, 64, 64, format, 'variants/' || id || '/64-' || format, 100, repeat('0', 64)
    FROM files, unnest(ARRAY['jpeg', 'webp']) AS format WHERE render_state = 'rendered'`.execute(db);
  await sql`INSERT INTO outbox (queue, name, payload, priority, publishes, publish_after)
    SELECT 'thumbnails', 'render-thumbnails', jsonb_build_object('v', 1, 'fileId', id), 1, 1, now() + interval '1 hour'
    FROM files WHERE render_state = 'pending'`.execute(db);
  await sql`INSERT INTO ledger_entries (user_id, kind, bytes, cause_id, occurred_at)
    SELECT user_id, 'charge', size_bytes, id, created_at FROM files WHERE posted_at IS NOT NULL`.execute(db);
  await sql`INSERT INTO quota_adjustments (user_id, bytes, reason, posted_at)
    SELECT id, 1, 'increase', now() FROM users, generate_series(1, 20)`.execute(db);
  await sql`VACUUM (ANALYZE)`.execute(db);
}

/** Table names of all sequential scans of growing tables in the plans of what the work sends. */
async function scansOf(work: () => Promise<unknown>): Promise<string[]> {
  statements = [];
  await work();
  const sent = statements.filter((query) => /^\s*(?:select|insert|update|delete|with)\b/i.test(query.sql));
  expect(sent).not.toHaveLength(0);
  const scans: string[] = [];
  for (const { sql: text, parameters } of sent) {
    const { rows } = await pool.query(`EXPLAIN (FORMAT JSON) ${text}`, [...parameters]);
    scans.push(...sequentialScans(rows[0]['QUERY PLAN'][0].Plan));
  }
  return scans;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

function sequentialScans(node: PlanNode): string[] {
  const table = node['Relation Name'];
  const own =
    node['Node Type'].includes('Seq Scan') && table !== undefined && GROWING.includes(table) ? [table] : [];
  return [...own, ...(node.Plans ?? []).flatMap(sequentialScans)];
}

describe('reads no growing table whole', () => {
  const uploadId = randomUUID();
  const upload = () => ({
    id: uploadId,
    files: [
      {
        id: randomUUID(),
        stem: 's'.repeat(26),
        extension: 'jpg',
        objectKey: `originals/${uploadId}/0`,
        contentType: 'image/jpeg',
        sizeBytes: 10,
        sha256: '0'.repeat(64),
        originalName: null,
        width: 10,
        height: 10,
        renderState: 'pending' as const,
      },
    ],
    idempotencyKey: null,
    requestId: null,
  });
  const caller = () => ({ userId: user, role: 'user' as const });

  it.each<[string, () => Promise<unknown>]>([
    ['a session check', () => requireSession(db, { userId: user, sessionId: session })],
    [
      'the begin of an upload',
      () =>
        beginUploads(db, {
          userId: user,
          sessionId: session,
          intents: [{ id: uploadId, reserveBytes: 10, idempotencyKey: 'key' }],
          leaseMs: 1_000,
        }),
    ],
    [
      'the finish of an upload',
      () => finishUploads(db, { userId: user, uploads: [upload()], postingDelayMs: 1_000 }),
    ],
    ['the question whether an upload is finished', () => isUploadFinished(db, upload())],
    ['the look-up of a file', () => createFileLookUp({ db }).find(stem)],
    [
      'the details of a file',
      () => showFile(db, { caller: caller(), stem, extension: 'jpg', thumbnailWidths: [64] }),
    ],
    [
      'the first page of a long list',
      () => listFiles(db, { caller: caller(), userId: undefined, limit: 50, cursor: undefined }),
    ],
    [
      'a later page of a long list',
      () =>
        listFiles(db, {
          caller: caller(),
          userId: undefined,
          limit: 50,
          cursor: `1700000000000000.${fileId}`,
        }),
    ],
    ['reading a quota', () => readQuota(db, { caller: caller(), userId: user })],
    [
      'changing a quota',
      () =>
        adjustQuota(db, { userId: user, actorId: user, kind: 'increase', bytes: 1, requestId: 'request' }),
    ],
    ['taking new jobs', () => claimDueJobs(db, 'new', 500, 1_000)],
    ['taking old jobs', () => claimDueJobs(db, 'again', 500, 1_000)],
    ['completing a job', () => completeJob(db, randomUUID())],
    ['finding a picture to render', () => findPendingRender(db, fileId)],
    [
      'finishing a render',
      () =>
        finishRender(db, {
          jobId: randomUUID(),
          fileId,
          width: 100,
          height: 100,
          renderedSet: 'set',
          variants: [
            { width: 64, height: 64, format: 'jpeg', objectKey: 'variants/x/1', sizeBytes: 1, sha256: '0' },
          ],
        }),
    ],
    ['the search for postings that were lost', () => requeuePostings(db)],
  ])('%s', async (_what, work) => {
    expect(await scansOf(work)).toEqual([]);
  });

  it('and notices when one is', async () => {
    const work = () => db.selectFrom('files').select('id').where('sha256', '=', 'x').execute();
    expect(await scansOf(work)).toEqual(['files']);
  });
});
