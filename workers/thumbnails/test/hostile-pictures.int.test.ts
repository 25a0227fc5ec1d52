import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createRenderPool, type RenderPool } from '@stowage/shared/images/render-pool.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { createRelay, type Relay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import type { JobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import { objectStores, queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { openThumbnailsWorker } from '../src/worker.ts';
import { BOMBS } from './hostile-bombs.ts';

const MAX_INPUT_PIXELS = 100_000_000;
const WIDTHS = [64, 128, 256, 512, 1_024];
/** Within which a bomb is dealt with, ms. */
const DEADLINE_MS = 10_000;
const MOST_MEMORY_MB = 400;

const logger = createLogger({ name: 'test', level: 'silent' });
const [queue] = queueBackends();
const [storage] = objectStores();

let database: TestDatabase;
let user: string;
let backend: QueueBackend;
let store: ObjectStore;
let relay: Relay;
/** Replaces what the worker reads of an original. */
const sources = new Map<string, (bytes: Buffer) => AsyncIterable<Buffer>>();

beforeAll(async () => {
  database = await openTestDatabase();
  user = await makeUser(database.db);
  backend = openQueueBackend(queue!.options, logger);
  store = openObjectStore(storage!.options);
  relay = createRelay({
    db: database.db,
    backend,
    logger,
    metrics: createMetrics('test'),
    pollMs: 200,
    retries: { attempts: 5, firstPauseMs: 50 },
  });
  relay.start();
});
afterAll(async () => {
  await relay?.close();
  await backend?.close();
  await store?.close();
  await database?.close();
});

function openWorker(pool: RenderPool, concurrency: number): JobWorker {
  return openThumbnailsWorker({
    db: database.db,
    store: {
      put: (key, body, options) => store.put(key, body, options),
      delete: (keys) => store.delete(keys),
      list: (prefix) => store.list(prefix),
      get: async (key, options) => {
        const body = await store.get(key, options);
        const replaced = sources.get(key);
        if (replaced === undefined) return body;
        const bytes = await buffer(body.stream);
        return { ...body, stream: Readable.from(replaced(bytes)) };
      },
    },
    pool,
    backend,
    logger,
    concurrency,
    metrics: createMetrics('test'),
    thumbnailWidths: WIDTHS,
    maxInputPixels: MAX_INPUT_PIXELS,
    firstPauseMs: 20,
  });
}

async function uploaded(bytes: Uint8Array, contentType: string): Promise<TestFile> {
  const object_key = `originals/${randomUUID()}/0`;
  await store.put(object_key, bytes, { contentType });
  const file = await makeFile(database.db, user, {
    object_key,
    content_type: contentType,
    extension: contentType.slice('image/'.length).replace('jpeg', 'jpg'),
    render_state: 'pending',
  });
  await database.db
    .updateTable('quotas')
    .set((eb) => ({ renders_outstanding: eb('renders_outstanding', '+', 1) }))
    .where('user_id', '=', user)
    .execute();
  return file;
}

async function queueRenders(files: readonly TestFile[]): Promise<void> {
  await insertJobs(
    database.db,
    files.map(({ id }) => ({ name: 'render-thumbnails', payload: { v: 1, fileId: id } }) as const),
  );
  relay.kick();
}

const rowOf = ({ id }: TestFile) =>
  database.db.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const settled = (file: TestFile) =>
  waitFor(
    async () => {
      const row = await rowOf(file);
      return row.render_state === 'pending' ? undefined : row;
    },
    { timeoutMs: 60_000 },
  );

/** Megabytes; `VmHWM` is the most there ever were. */
function memoryOf(pid: number, what: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}

describe('a decompression bomb', { timeout: 60_000 }, () => {
  test.each(BOMBS)('$what is dealt with in 10 s and 400 MB', async ({ make, contentType, refused }) => {
    // A child of its own, so that its memory is that of this picture.
    const pool = createRenderPool({
      children: 1,
      deadlineMs: DEADLINE_MS,
      maxInputPixels: MAX_INPUT_PIXELS,
      logger,
    });
    const worker = openWorker(pool, 1);
    await worker.ready();
    try {
      await pool.warm();
      const [pid] = pool.pids;
      const file = await uploaded(await make(), contentType);
      await queueRenders([file]);
      const row = await settled(file);
      // A picture that took longer would have ended its child: RENDER_TIMED_OUT.
      expect({ state: row.render_state, error: row.render_error?.split(':')[0] }).toEqual(
        refused === undefined ? { state: 'rendered' } : { state: 'failed', error: refused },
      );
      expect(pool.pids).toEqual([pid]);
      if (process.platform === 'linux') expect(memoryOf(pid!, 'VmHWM')).toBeLessThan(MOST_MEMORY_MB);
      expect(row.state).toBe('stored');
    } finally {
      await worker.close();
      await pool.close();
    }
  });
});

describe.runIf(process.platform === 'linux')('a picture that', { timeout: 120_000 }, () => {
  const LENGTH = 48_000_000;

  /** Gives all bytes but the last, then does its worst to the child that has taken them. */
  async function* doomed(bytes: Buffer, pool: RenderPool, signal: NodeJS.Signals): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, -1);
    const pid = await waitFor(() => pool.pids.find((child) => memoryOf(child, 'VmRSS') > 120));
    process.kill(pid, signal);
    yield bytes.subarray(-1);
  }

  test.each([
    ['crashes its decoder', 'SIGKILL', 'RENDER_CRASHED'],
    ['hangs its decoder', 'SIGSTOP', 'RENDER_TIMED_OUT'],
  ] as const)('%s is tried three times and given up, while its neighbours go on', async (_, signal, code) => {
    const pool = createRenderPool({
      children: 2,
      deadlineMs: 2_000,
      maxInputPixels: MAX_INPUT_PIXELS,
      logger,
    });
    const worker = openWorker(pool, 2);
    await worker.ready();
    try {
      const picture = await makePicture({ width: 300, height: 200, format: 'jpeg' });
      const bad = await uploaded(Buffer.concat([picture, Buffer.alloc(LENGTH)]), 'image/jpeg');
      const neighbours = await Promise.all(
        Array.from({ length: 6 }, (_unused, seed) =>
          makePicture({ width: 300, height: 200, format: 'jpeg', seed }).then((bytes) =>
            uploaded(bytes, 'image/jpeg'),
          ),
        ),
      );
      let tries = 0;
      sources.set(bad.object_key, (bytes) => {
        tries += 1;
        return doomed(bytes, pool, signal);
      });
      await queueRenders([bad, ...neighbours]);
      expect(await settled(bad)).toMatchObject({
        state: 'stored',
        render_state: 'failed',
        render_error: expect.stringMatching(new RegExp(`^${code}: `)),
      });
      expect(tries).toBe(3);
      for (const neighbour of neighbours)
        expect(await settled(neighbour)).toMatchObject({ render_state: 'rendered', render_attempts: 0 });
    } finally {
      sources.clear();
      await worker.close();
      await pool.close();
    }
  });
});
