import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsInBooks } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { abandonUpload } from '../abandon-upload.ts';
import { isUploadFinished } from '../is-upload-finished.ts';
import { file, finished, openUploads, POSTING_DELAY_MS, type Uploads } from './uploads-fixture.ts';

let uploads: Uploads;
beforeAll(async () => {
  uploads = await openUploads();
});
afterAll(() => uploads?.close());

describe('finish', () => {
  it('turns reservations into exactly the bytes that came', async () => {
    const user = await uploads.uploader(1_000);
    const { ids } = await user.begin(300, 200);
    const both = [finished(ids[0]!, [100, 20]), finished(ids[1]!, [7])];
    expect(await user.finish(both)).toEqual({ kind: 'settled', ids: expect.arrayContaining(ids) });
    expect(await uploads.books(user.userId)).toMatchObject({
      stored: 127,
      files: 127,
      reserved: 0,
      uploads: 0,
    });
    expect(await faultsInBooks(uploads.db, user.userId)).toEqual([]);
    for (const upload of both) expect(await isUploadFinished(uploads.db, upload)).toBe(true);
  });

  it('takes a little more than was reserved when there is room, and changes nothing when there is not', async () => {
    const user = await uploads.uploader(110);
    const { ids } = await user.begin(100);
    expect(await user.finish([finished(ids[0]!, [111])])).toEqual({ kind: 'no-room' });
    expect(await uploads.books(user.userId)).toMatchObject({
      stored: 0,
      reserved: 100,
      uploads: 100,
      files: 0,
    });
    expect((await user.finish([finished(ids[0]!, [110])])).kind).toBe('settled');
    expect(await uploads.books(user.userId)).toMatchObject({ stored: 110, reserved: 0 });
  });

  it('keeps what was admitted although the limit was lowered meanwhile', async () => {
    const user = await uploads.uploader(100);
    const { ids } = await user.begin(100);
    await uploads.db.updateTable('quotas').set({ max_bytes: 5 }).where('user_id', '=', user.userId).execute();
    expect((await user.finish([finished(ids[0]!, [100])])).kind).toBe('settled');
  });

  it.each(['abandoned', 'sweeping'] as const)(
    'leaves out an upload that was %s, and finishes the others',
    async (state) => {
      const user = await uploads.uploader(100);
      const { ids } = await user.begin(10, 10);
      await abandonUpload(uploads.db, { id: ids[0]!, userId: user.userId, wroteObjects: true });
      await uploads.db.updateTable('uploads').set({ state }).where('id', '=', ids[0]!).execute();
      const both = ids.map((id) => finished(id, [10]));
      expect(await user.finish(both)).toEqual({ kind: 'settled', ids: [ids[1]] });
      expect(await isUploadFinished(uploads.db, both[0]!)).toBe(false);
      expect(await uploads.books(user.userId)).toMatchObject({
        stored: 10,
        files: 10,
        reserved: 0,
        uploads: 0,
      });
    },
  );

  it('cannot be done twice, nor with an upload of someone else', async () => {
    const [user, other] = [await uploads.uploader(100), await uploads.uploader(100)];
    const { ids } = await user.begin(10);
    expect(await other.finish([finished(ids[0]!, [10])])).toEqual({ kind: 'settled', ids: [] });
    await user.finish([finished(ids[0]!, [10])]);
    expect(await user.finish([finished(ids[0]!, [10])])).toEqual({ kind: 'settled', ids: [] });
    expect(await uploads.books(user.userId)).toMatchObject({ stored: 10, files: 10 });
    expect(await uploads.books(other.userId)).toMatchObject({ stored: 0 });
  });

  it('queues a render for each picture, later ones of a user with less priority', async () => {
    const user = await uploads.uploader(100);
    const { ids } = await user.begin(10, 10);
    const text = file(ids[1]!, 1, { renderState: 'none', contentType: 'text/plain' });
    const second = finished(ids[1]!, [1]);
    await user.finish([finished(ids[0]!, [1, 1]), { ...second, files: [...second.files, text] }]);
    const renders = await uploads.jobs('render-thumbnails', user.userId);
    expect(renders.map((job) => [job.queue, job.priority, job.request_id])).toEqual([
      ['thumbnails', 1, 'r-1'],
      ['thumbnails', 2, 'r-1'],
      ['thumbnails', 3, 'r-1'],
    ]);
    const more = await user.begin(1);
    await user.finish([finished(more.ids[0]!, [1])]);
    expect((await uploads.jobs('render-thumbnails', user.userId)).map((job) => job.priority)).toEqual([
      1, 2, 3, 4,
    ]);
  });

  it('lets charges gather behind one job that no relay has taken, and makes a new one after that', async () => {
    const user = await uploads.uploader(1_000);
    const upload = async () => {
      const { ids } = await user.begin(1);
      await user.finish([finished(ids[0]!, [1])]);
      return uploads.jobs('post-usage', user.userId);
    };
    expect(await upload()).toHaveLength(1);
    const [job] = await upload();
    expect(await upload()).toHaveLength(1);
    expect(job!.publish_after.getTime() - job!.created_at.getTime()).toBe(POSTING_DELAY_MS);
    // What a relay does when it takes a row; it counts `publishes` only when the job is in its queue.
    await uploads.db
      .updateTable('outbox')
      .set({ publish_after: new Date(job!.created_at.getTime() + 90_000) })
      .where('id', '=', job!.id)
      .execute();
    expect(await upload()).toHaveLength(2);
    expect(await upload()).toHaveLength(2);
  });

  it('makes a job of its own when a relay takes the waiting one at this moment', async () => {
    const user = await uploads.uploader(1_000);
    const first = await user.begin(1, 1);
    await user.finish([finished(first.ids[0]!, [1])]);
    const [job] = await uploads.jobs('post-usage', user.userId);
    let second: Promise<unknown> | undefined;
    await uploads.db.transaction().execute(async (trx) => {
      await trx
        .updateTable('outbox')
        .set({ publish_after: new Date(job!.created_at.getTime() + 90_000) })
        .where('id', '=', job!.id)
        .execute();
      second = user.finish([finished(first.ids[1]!, [1])]);
      // It waits for the relay, holding the lock of the quota row.
      await waitFor(async () => {
        const { rows } = await sql`
          SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(
          uploads.db,
        );
        return rows.length > 0;
      });
    });
    await second;
    expect(await uploads.jobs('post-usage', user.userId)).toHaveLength(2);
  });
});
