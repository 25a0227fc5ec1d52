import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { openBreakableLine } from '../../../shared/queues/test/breakable-line.ts';
import { openThumbnailsWorker } from '../src/worker.ts';

const PATIENCE = { timeoutMs: 30_000 };
const logger = createLogger({ name: 'test', level: 'silent' });
let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

/** A store that can be taken away. */
async function openAway(options: ReturnType<typeof objectStores>[number]['options']) {
  if (options.kind === 'filesystem') {
    const elsewhere = `${options.folder}-elsewhere`;
    const take = () => rename(options.folder, elsewhere);
    const bringBack = () => rename(elsewhere, options.folder);
    return { store: openObjectStore(options), take, bringBack, close: async () => undefined };
  }
  const line = await openBreakableLine(options.endpoint, 80);
  const deadlines = { connectMs: 300, answerMs: 300, stallMs: 300, controlMs: 500, completeMs: 500 };
  return {
    store: openObjectStore({ ...options, endpoint: line.url.replace(/\/$/, ''), deadlines }),
    take: async () => line.freeze(),
    bringBack: async () => line.mend(),
    close: () => line.close(),
  };
}

describe.each(objectStores())('while the $name store is away', ({ options }) => {
  it('a picture waits, costs no attempt, and has its thumbnails once the store is back', {
    timeout: 60_000,
  }, async () => {
    const { db } = database;
    const away = await openAway(options);
    let reads = 0;
    const store: Pick<ObjectStore, 'put' | 'get' | 'delete' | 'list'> = {
      put: (...args) => away.store.put(...args),
      delete: (...args) => away.store.delete(...args),
      list: (...args) => away.store.list(...args),
      get: (...args) => {
        reads += 1;
        return away.store.get(...args);
      },
    };
    const backend = openQueueBackend({ kind: 'postgres', databaseUrl: database.url }, logger);
    const metrics = createMetrics('test');
    const retries = { attempts: 2, firstPauseMs: 1 };
    const relay = createRelay({ db, backend, logger, metrics, retries, pollMs: 200 });
    const pool = createRenderPool({ children: 1, deadlineMs: 20_000, maxInputPixels: 1_000_000, logger });
    const object_key = `originals/${randomUUID()}/0`;
    const picture = await makePicture({ width: 100, height: 50, format: 'png' });
    await store.put(object_key, picture, { contentType: 'image/png' });
    const { id } = await makeFile(db, await makeUser(db), {
      object_key,
      content_type: 'image/png',
      render_state: 'pending',
    });
    const row = db.selectFrom('files').select(['render_state', 'render_attempts']).where('id', '=', id);
    await away.take();
    const worker = openThumbnailsWorker({
      db,
      store,
      pool,
      backend,
      logger,
      metrics,
      thumbnailWidths: [32],
      maxInputPixels: 1_000_000,
      concurrency: 1,
      firstPauseMs: 10,
    });
    try {
      await insertJobs(db, [{ name: 'render-thumbnails', payload: { v: 1, fileId: id } }]);
      relay.start();
      await waitFor(() => reads > 3, PATIENCE);
      expect(await row.executeTakeFirst()).toEqual({ render_state: 'pending', render_attempts: 0 });
      await away.bringBack();
      await waitFor(async () => (await row.executeTakeFirst())?.render_state === 'rendered', PATIENCE);
    } finally {
      await worker.close();
      await pool.close();
      await relay.close();
      await backend.close();
      await away.store.close();
      await away.close();
    }
  });
});
