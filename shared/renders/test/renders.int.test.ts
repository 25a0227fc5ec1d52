import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import type { Db } from '../../database/open-database.ts';
import { requestDeletion } from '../../deletions/request-deletion.ts';
import { insertJobs } from '../../outbox/insert-jobs.ts';
import { beginRender, undoAttempt } from '../begin-render.ts';
import { failRender } from '../fail-render.ts';
import { findPendingRender } from '../find-pending-render.ts';
import { type FinishedRender, finishRender } from '../finish-render.ts';
import { requeueMissingRenders } from '../requeue-missing-renders.ts';
import { retryFailedRenders } from '../retry-failed-renders.ts';

let database: TestDatabase;
let db: Db;
let user: string;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
afterAll(() => database.close());
beforeEach(async () => {
  await db.deleteFrom('outbox').execute();
  await db.deleteFrom('files').execute();
  user = await makeUser(db);
});

async function pendingPicture(values: Partial<TestFile> = {}): Promise<{ id: string; jobId: string }> {
  const picture = { content_type: 'image/png', extension: 'png', render_state: 'pending' as const };
  const { id } = await makeFile(db, user, { ...picture, ...values });
  await db
    .updateTable('quotas')
    .set((eb) => ({ renders_outstanding: eb('renders_outstanding', '+', 1) }))
    .where('user_id', '=', user)
    .execute();
  const [jobId] = await insertJobs(db, [{ name: 'render-thumbnails', payload: { v: 1, fileId: id } }]);
  return { id, jobId: jobId! };
}

const variant = (fileId: string, width: number, settings = 'one') => ({
  width,
  height: width / 2,
  format: 'png',
  objectKey: `variants/${fileId}/${width}-png-${settings}`,
  sizeBytes: 100,
  sha256: 'f'.repeat(64),
});

const finished = (
  file: { id: string; jobId: string },
  widths: number[],
  settings = 'one',
): FinishedRender => ({
  jobId: file.jobId,
  fileId: file.id,
  width: 400,
  height: 200,
  renderedSet: `set ${settings}`,
  variants: widths.map((width) => variant(file.id, width, settings)),
});

const fileRow = (id: string) =>
  db.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const jobs = () => db.selectFrom('outbox').select(['id', 'payload', 'priority']).execute();
const outstanding = async () =>
  (
    await db
      .selectFrom('quotas')
      .select('renders_outstanding')
      .where('user_id', '=', user)
      .executeTakeFirstOrThrow()
  ).renders_outstanding;
const variantKeys = async (id: string) =>
  (await db.selectFrom('variants').select('object_key').where('file_id', '=', id).execute())
    .map((row) => row.object_key)
    .toSorted();

describe('attempts', () => {
  test('are counted, and taken back', async () => {
    const { id } = await pendingPicture();
    await beginRender(db, id);
    await beginRender(db, id);
    await undoAttempt(db, id);
    expect((await findPendingRender(db, id))?.render_attempts).toBe(1);
    await undoAttempt(db, id);
    await undoAttempt(db, id);
    expect((await fileRow(id)).render_attempts).toBe(0);
  });

  test('are for pending files only', async () => {
    const { id } = await makeFile(db, user, { render_state: 'rendered' });
    await beginRender(db, id);
    expect(await findPendingRender(db, id)).toBeUndefined();
    expect((await fileRow(id)).render_attempts).toBe(0);
  });
});

describe('a finished render', () => {
  test('has its variants, no job, and one less to wait for', async () => {
    const file = await pendingPicture();
    await beginRender(db, file.id);
    expect(await finishRender(db, finished(file, [64, 128]))).toEqual({ kind: 'finished', replacedKeys: [] });
    expect(await fileRow(file.id)).toMatchObject({
      render_state: 'rendered',
      rendered_set: 'set one',
      render_attempts: 0,
      width: 400,
      height: 200,
    });
    expect(await variantKeys(file.id)).toHaveLength(2);
    expect(await jobs()).toEqual([]);
    expect(await outstanding()).toBe(0);
  });

  test('keeps the size that was found at the upload', async () => {
    const file = await pendingPicture({ width: 401, height: 201 });
    await finishRender(db, finished(file, [64]));
    expect(await fileRow(file.id)).toMatchObject({ width: 401, height: 201 });
  });

  test('counts once, however often it is finished', async () => {
    const [file] = [await pendingPicture(), await pendingPicture()];
    await finishRender(db, finished(file, [64]));
    expect(await finishRender(db, finished(file, [64]))).toEqual({ kind: 'finished', replacedKeys: [] });
    expect(await outstanding()).toBe(1);
  });

  test('replaces the variants of another set, and names the objects that are no longer wanted', async () => {
    const file = await pendingPicture();
    await finishRender(db, finished(file, [64, 128]));
    const outcome = await finishRender(db, finished(file, [128, 256], 'two'));
    expect(outcome.kind === 'finished' && outcome.replacedKeys.toSorted()).toEqual([
      `variants/${file.id}/128-png-one`,
      `variants/${file.id}/64-png-one`,
    ]);
    expect(await variantKeys(file.id)).toEqual([
      `variants/${file.id}/128-png-two`,
      `variants/${file.id}/256-png-two`,
    ]);
  });

  test('of a picture without variants is finished too', async () => {
    const file = await pendingPicture();
    expect(await finishRender(db, finished(file, []))).toEqual({ kind: 'finished', replacedKeys: [] });
    expect((await fileRow(file.id)).render_state).toBe('rendered');
  });

  test('of a file that was deleted meanwhile leaves no row, and says so', async () => {
    const file = await pendingPicture();
    await requestDeletion(db, { fileId: file.id, requestId: 'r' });
    expect(await finishRender(db, finished(file, [64]))).toEqual({ kind: 'gone' });
    expect(await variantKeys(file.id)).toEqual([]);
    expect(await outstanding()).toBe(0);
    expect((await jobs()).map((job) => job.id)).not.toContain(file.jobId);
  });
});

describe('a failed render', () => {
  test('says why on the file, has no job, and is not waited for', async () => {
    const file = await pendingPicture();
    await failRender(db, { jobId: file.jobId, fileId: file.id, reason: 'PICTURE_UNREADABLE: cut off' });
    expect(await fileRow(file.id)).toMatchObject({
      render_state: 'failed',
      render_error: 'PICTURE_UNREADABLE: cut off',
    });
    expect(await jobs()).toEqual([]);
    expect(await outstanding()).toBe(0);
  });

  test('is tried again by hand, with all its attempts', async () => {
    const file = await pendingPicture();
    for (let attempt = 0; attempt < 3; attempt += 1) await beginRender(db, file.id);
    await failRender(db, { jobId: file.jobId, fileId: file.id, reason: 'RENDER_CRASHED: no' });
    expect(await retryFailedRenders(db)).toBe(1);
    expect(await fileRow(file.id)).toMatchObject({
      render_state: 'pending',
      render_error: null,
      render_attempts: 0,
    });
    expect((await jobs()).map((job) => job.payload)).toEqual([{ v: 1, fileId: file.id }]);
    expect(await outstanding()).toBe(1);
    expect(await retryFailedRenders(db)).toBe(0);
  });
});

describe('the sweep', () => {
  const hourAgo = () => new Date(Date.now() - 3_600_000);
  const sweep = (renderedSet: string, batchSize?: number) =>
    requeueMissingRenders(db, { renderedSet, ...(batchSize !== undefined && { batchSize }) });

  test('queues a pending picture whose job is gone, once', async () => {
    const file = await pendingPicture({ created_at: hourAgo() });
    expect(await sweep('set')).toBe(0);
    await db.deleteFrom('outbox').execute();
    expect(await sweep('set')).toBe(1);
    expect((await jobs()).map((job) => job.payload)).toEqual([{ v: 1, fileId: file.id }]);
    expect(await sweep('set')).toBe(0);
    expect(await outstanding()).toBe(1);
  });

  test('leaves a young one alone', async () => {
    await pendingPicture();
    await db.deleteFrom('outbox').execute();
    expect(await sweep('set')).toBe(0);
  });

  test('queues what was rendered as another set, behind everything else, in batches', async () => {
    const files = [await pendingPicture(), await pendingPicture(), await pendingPicture()];
    for (const file of files) await finishRender(db, finished(file, [64]));
    expect(await sweep('set one')).toBe(0);
    expect(await sweep('set two', 2)).toBe(2);
    // As long as a whole batch is waiting, no more is added.
    expect(await sweep('set two', 2)).toBe(0);
    expect((await jobs()).every((job) => job.priority > 1_000_000)).toBe(true);
    expect(await outstanding()).toBe(2);
    await db.deleteFrom('outbox').execute();
    expect(await sweep('set two', 2)).toBe(1);
    expect(await variantKeys(files[0]!.id)).toHaveLength(1);
  });
});
