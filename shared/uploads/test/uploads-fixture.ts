import { randomBytes, randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { openTestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import type { Db } from '../../database/open-database.ts';
import type { OutboxTable } from '../../database/schema.ts';
import { beginUploads } from '../begin-upload.ts';
import { type FinishedUpload, finishUploads } from '../finish-upload.ts';
import type { UploadedFile } from '../uploaded-file.ts';

export const LEASE_MS = 60_000;
export const POSTING_DELAY_MS = 60_000;

/** A database of the test file's own, with users who upload. */
export async function openUploads() {
  const { db, close } = await openTestDatabase();
  return {
    db,
    close,
    books: (userId: string) => readBooks(db, userId),
    uploader: (maxBytes: number) => makeUploader(db, maxBytes),

    /** Open jobs about a user or about files of theirs. */
    async jobs(name: string, userId: string) {
      const { rows } = await sql<Selectable<OutboxTable>>`
        SELECT * FROM outbox WHERE name = ${name} AND (payload->>'userId' = ${userId}
          OR payload->>'fileId' IN (SELECT id::text FROM files WHERE user_id = ${userId}))
        ORDER BY priority`.execute(db);
      return rows;
    },
  };
}

export type Uploads = Awaited<ReturnType<typeof openUploads>>;

async function makeUploader(db: Db, maxBytes: number) {
  const userId = await makeUser(db, { maxBytes });
  const sessionId = randomUUID();
  const later = new Date(Date.now() + 3_600_000);
  await db
    .insertInto('sessions')
    .values({ id: sessionId, user_id: userId, idle_expires_at: later, expires_at: later })
    .execute();
  const begin = (...sizes: number[]) => beginKeyed(sizes.map((size) => [size, null]));
  const beginKeyed = async (wanted: [number, string | null][]) => {
    const intents = wanted.map(([reserveBytes, idempotencyKey]) => ({
      id: randomUUID(),
      reserveBytes,
      idempotencyKey,
    }));
    const outcome = await beginUploads(db, { userId, sessionId, intents, leaseMs: LEASE_MS });
    return { outcome, ids: intents.map((intent) => intent.id) };
  };
  const finish = (uploads: FinishedUpload[]) =>
    finishUploads(db, { userId, uploads, postingDelayMs: POSTING_DELAY_MS });
  return { userId, sessionId, begin, beginKeyed, finish };
}

/** An upload of files of those sizes, ready to be finished. */
export function finished(id: string, sizes: number[], values: Partial<FinishedUpload> = {}): FinishedUpload {
  return {
    id,
    files: sizes.map((sizeBytes, n) => file(id, n, { sizeBytes })),
    idempotencyKey: null,
    requestId: 'r-1',
    ...values,
  };
}

export function file(uploadId: string, n: number, values: Partial<UploadedFile>): UploadedFile {
  return {
    id: randomUUID(),
    stem: randomBytes(13).toString('hex'),
    extension: 'jpg',
    objectKey: `originals/${uploadId}/${n}`,
    contentType: 'image/jpeg',
    sizeBytes: 1,
    sha256: '0'.repeat(64),
    originalName: 'a.jpg',
    width: 3,
    height: 2,
    renderState: 'pending',
    ...values,
  };
}
