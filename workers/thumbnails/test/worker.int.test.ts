import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { requestDeletion } from '@stowage/shared/deletions/request-deletion.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { createRenderPool, type RenderPool } from '@stowage/shared/images/render-pool.ts';
import { configuredVariants, renderedSet } from '@stowage/shared/images/variant-settings.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { createRelay, type Relay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import type { JobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeJpegBomb, makePicture } from '../../../scripts/testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import { objectStores, queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { renderThumbnails } from '../src/render-thumbnails.ts';
import { openThumbnailsWorker } from '../src/worker.ts';

const WIDTHS = [64, 128, 256];
const MAX_INPUT_PIXELS = 100_000_000;
const logger = createLogger({ name: 'test', level: 'silent' });

let database: TestDatabase;
let user: string;

beforeAll(async () => {
  database = await openTestDatabase();
  user = await makeUser(database.db);
});
afterAll(() => database.close());

const services = queueBackends().flatMap((queue) =>
  objectStores().map((store) => ({ name: `${queue.name} and ${store.name}`, queue, store })),
);

describe.each(services)('the thumbnails worker on $name', ({ queue, store: { options: storeOptions } }) => {
  let backend: QueueBackend;
  let store: ObjectStore;
  let relay: Relay;
  let pool: RenderPool;
  let worker: JobWorker;
  /** Called with the key of each original that is read, before it is. */
  let onRead: (key: string) => unknown = () => {};
  /** The same with each variant that is written. */
  let onWrite: (key: string) => unknown = () => {};

  beforeAll(async () => {
    backend = openQueueBackend(queue.options, logger);
    store = openObjectStore(storeOptions);
    const metrics = createMetrics('test');
    relay = createRelay({ db: database.db, backend, logger, metrics, pollMs: 200 });
    relay.start();
    pool = createRenderPool({ children: 2, deadlineMs: 20_000, maxInputPixels: MAX_INPUT_PIXELS, logger });
    worker = openThumbnailsWorker({
      db: database.db,
      store: {
        ...bound(),
        put: async (key, body, options) => {
          await onWrite(key);
          return await store.put(key, body, options);
        },
        get: async (key, options) => {
          await onRead(key);
          return await store.get(key, options);
        },
      },
      pool,
      backend,
      metrics,
      logger,
      thumbnailWidths: WIDTHS,
      maxInputPixels: MAX_INPUT_PIXELS,
      concurrency: 2,
      firstPauseMs: 20,
    });
    await worker.ready();
  });

  afterAll(async () => {
    await worker?.close();
    await pool?.close();
    await relay?.close();
    await backend?.close();
    await store?.close();
  });

  const bound = () => ({
    get: store.get.bind(store),
    delete: store.delete.bind(store),
    list: store.list.bind(store),
  });

  async function uploaded(bytes: Uint8Array, values: Partial<TestFile> = {}): Promise<TestFile> {
    const object_key = `originals/${randomUUID()}/0`;
    await store.put(object_key, bytes, { contentType: 'image/jpeg' });
    const file = await makeFile(database.db, user, {
      object_key,
      content_type: 'image/jpeg',
      extension: 'jpg',
      render_state: 'pending',
      ...values,
    });
    await database.db
      .updateTable('quotas')
      .set((eb) => ({ renders_outstanding: eb('renders_outstanding', '+', 1) }))
      .where('user_id', '=', user)
      .execute();
    return file;
  }

  async function queueRender(file: TestFile): Promise<string> {
    const [id] = await insertJobs(database.db, [
      { name: 'render-thumbnails', payload: { v: 1, fileId: file.id } },
    ]);
    relay.kick();
    return id!;
  }

  const rowOf = (file: TestFile) =>
    database.db.selectFrom('files').selectAll().where('id', '=', file.id).executeTakeFirstOrThrow();
  const isSettled = async (file: TestFile) => {
    const row = await rowOf(file);
    return row.render_state === 'pending' ? undefined : row;
  };
  const settled = (file: TestFile) => waitFor(() => isSettled(file));
  const variantsOf = (file: TestFile) =>
    database.db.selectFrom('variants').selectAll().where('file_id', '=', file.id).execute();
  const objectsOf = async (file: TestFile) => {
    const keys: string[] = [];
    for await (const { key } of store.list(`variants/${file.id}/`)) keys.push(key);
    return keys.toSorted();
  };

  test('makes every variant of a photograph, and nothing else', async () => {
    const bytes = await makePicture({ width: 300, height: 201, format: 'jpeg', orientation: 6, gps: true });
    const file = await uploaded(bytes);
    const jobId = await queueRender(file);
    expect(await settled(file)).toMatchObject({
      render_state: 'rendered',
      rendered_set: renderedSet(WIDTHS),
      width: 201,
      height: 300,
    });
    const variants = await variantsOf(file);
    const wanted = configuredVariants({ width: 201, height: 300 }, 'jpeg', WIDTHS);
    expect(wanted).toHaveLength(4);
    expect(variants.map((v) => `${v.width} ${v.height} ${v.format}`).toSorted()).toEqual(
      wanted.map((v) => `${v.width} ${v.height} ${v.format}`).toSorted(),
    );
    for (const variant of variants) {
      const { stream } = await store.get(variant.object_key);
      const read = await buffer(stream);
      expect(read.length).toBe(variant.size_bytes);
      expect(await sharp(read).metadata()).toMatchObject({
        format: variant.format,
        width: variant.width,
        height: variant.height,
      });
    }
    expect(await objectsOf(file)).toEqual(variants.map((variant) => variant.object_key).toSorted());
    const job = database.db.selectFrom('outbox').select('id').where('id', '=', jobId);
    await waitFor(async () => (await job.executeTakeFirst()) === undefined);
  });

  test('gives an unreadable picture up at once, with the reason, and keeps the file', async () => {
    const whole = await makePicture({ width: 300, height: 200, format: 'jpeg' });
    const file = await uploaded(whole.subarray(0, whole.length / 2));
    // An attempt that ended with its process.
    await store.put(`variants/${file.id}/64-jpeg-abc`, Buffer.from('x'), { contentType: 'image/jpeg' });
    await queueRender(file);
    expect(await settled(file)).toMatchObject({
      state: 'stored',
      render_state: 'failed',
      render_error: expect.stringMatching(/^PICTURE_UNREADABLE: /),
    });
    await waitFor(async () => (await objectsOf(file)).length === 0);
    expect(await store.head(file.object_key)).toBe(Math.floor(whole.length / 2));
  });

  test('gives a picture of too many pixels up, by its row or by its header', async () => {
    const bomb = await makeJpegBomb(20_000, 14_000);
    const files = [await uploaded(bomb), await uploaded(bomb, { width: 20_000, height: 14_000 })];
    for (const file of files) {
      await queueRender(file);
      expect(await settled(file)).toMatchObject({
        render_state: 'failed',
        render_error: expect.stringMatching(/^PICTURE_TOO_LARGE: /),
      });
    }
  });

  test('gives a picture up that has ended three attempts, without a fourth', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }), {
      render_attempts: 3,
    });
    let reads = 0;
    onRead = () => {
      reads += 1;
    };
    await queueRender(file);
    expect(await settled(file)).toMatchObject({
      render_state: 'failed',
      render_error: expect.stringMatching(/^RENDER_CRASHED: /),
    });
    onRead = () => {};
    expect(reads).toBe(0);
  });

  test('tries again when a render process dies, and counts the attempt', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }));
    let kills = 0;
    onRead = (key) => {
      if (key !== file.object_key || kills > 0) return;
      kills += 1;
      for (const pid of pool.pids) process.kill(pid, 'SIGKILL');
    };
    await queueRender(file);
    expect(await settled(file)).toMatchObject({ render_state: 'rendered', render_error: null });
    onRead = () => {};
    expect(kills).toBe(1);
  });

  test('waits for a store that is away, however long, without blaming the picture', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }));
    let failures = 0;
    onRead = (key) => {
      if (key !== file.object_key || failures === 4) return;
      failures += 1;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    await queueRender(file);
    expect(await settled(file)).toMatchObject({ render_state: 'rendered', render_attempts: 0 });
    onRead = () => {};
    expect(failures).toBe(4);
  });

  test('waits for a store that is full, however long, without blaming the picture', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }));
    let failures = 0;
    onWrite = (key) => {
      if (!key.includes(file.id) || !key.includes('/64-webp') || failures === 4) return;
      failures += 1;
      throw new AppError('OBJECT_STORE_WRITE_FAILED', 'the disk is full');
    };
    await queueRender(file);
    expect(await settled(file)).toMatchObject({ render_state: 'rendered', render_attempts: 0 });
    onWrite = () => {};
    expect(failures).toBe(4);
    expect(await objectsOf(file)).toEqual(
      (await variantsOf(file)).map((variant) => variant.object_key).toSorted(),
    );
  });

  test('removes what it wrote when it has lost the job, and the file is gone', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }));
    const lost = new AbortController();
    const job = {
      id: randomUUID(),
      payload: { v: 1, fileId: file.id },
      lastAttempt: false,
      logger,
      signal: lost.signal,
    } as const;
    let written: string | undefined;
    const put: ObjectStore['put'] = async (key, body, options) => {
      // Of the others it is not known when they come.
      if (written !== undefined) throw new AppError('OBJECT_STORE_WRITE_FAILED', 'stopped');
      written = key;
      const bytes = await store.put(key, body, options);
      await database.db.deleteFrom('files').where('id', '=', file.id).execute();
      lost.abort(new AppError('INTERNAL', 'The job was lost to another worker.'));
      return bytes;
    };
    const deps = { db: database.db, pool, thumbnailWidths: WIDTHS, maxInputPixels: MAX_INPUT_PIXELS };
    const rendering = renderThumbnails({ ...deps, store: { ...bound(), put } }, job);
    await expect(rendering).rejects.toThrow();
    expect(written).toContain(file.id);
    expect(await objectsOf(file)).toEqual([]);
  });

  test('removes what it wrote when the file is deleted meanwhile', async () => {
    const file = await uploaded(await makePicture({ width: 200, height: 100, format: 'jpeg' }));
    let deleted = false;
    onRead = async (key) => {
      if (key !== file.object_key) return;
      deleted = await requestDeletion(database.db, { fileId: file.id, requestId: 'r' });
    };
    const jobId = await queueRender(file);
    const job = database.db.selectFrom('outbox').select('id').where('id', '=', jobId);
    await waitFor(async () => (await job.executeTakeFirst()) === undefined);
    onRead = () => {};
    expect(deleted).toBe(true);
    await waitFor(async () => (await objectsOf(file)).length === 0);
    expect(await variantsOf(file)).toEqual([]);
  });

  test('renders with today’s settings what was rendered with others, and removes the old objects', async () => {
    const file = await uploaded(await makePicture({ width: 100, height: 50, format: 'jpeg' }));
    const old = `variants/${file.id}/64-jpeg-000000000000`;
    await store.put(old, Buffer.from('old'), { contentType: 'image/jpeg' });
    await database.db
      .insertInto('variants')
      .values({
        file_id: file.id,
        width: 64,
        height: 32,
        format: 'jpeg',
        object_key: old,
        size_bytes: 3,
        sha256: '0',
      })
      .execute();
    await queueRender(file);
    await settled(file);
    await waitFor(async () => !(await objectsOf(file)).includes(old));
    expect(await objectsOf(file)).toEqual((await variantsOf(file)).map((v) => v.object_key).toSorted());
  });
});
