import { randomUUID } from 'node:crypto';
import { readLastAudit } from '@stowage/shared/audit/audit-record.ts';
import { renderedSet } from '@stowage/shared/images/variant-settings.ts';
import { createAuditGauges } from '@stowage/shared/metrics/audit-gauges.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { leftovers } from '@stowage/shared/objects/test/leftovers.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { QUEUE_NAMES } from '@stowage/shared/queues/job-types.ts';
import { openQueueBackend, type QueueBackendOptions } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { originalKey, originalsPrefix } from '@stowage/shared/uploads/original-keys.ts';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores, queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type CleanupWorker, openCleanupWorker } from '../src/worker.ts';

const logger = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
/** Nothing runs by itself: the tests say when. */
const NEVER = { uploads: 1e9, deletedUsers: 1e9, requeue: 1e9, expiry: 1e9, audit: 1e9 };
const WIDTHS = [64, 128];

let database: TestDatabase;
let user: string;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await sql`TRUNCATE users, outbox, sweeps CASCADE`.execute(database.db);
  user = await makeUser(database.db);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Services {
  readonly backend: QueueBackend;
  readonly store: ObjectStore;
}

async function openServices(queue: QueueBackendOptions, storeNumber = 0): Promise<Services> {
  const store = openObjectStore(stores[storeNumber]!.options);
  closers.push(() => store.close());
  const backend = openQueueBackend(queue, logger);
  closers.push(() => backend.close());
  for (const name of QUEUE_NAMES) await backend.queue(name).obliterate({ force: true });
  return { store, backend };
}

/** One of several cleanup processes. The sweeps that it makes when it starts are over. */
async function openWorker(
  { store, backend }: Services,
  more: { relayKick?: () => void; widths?: readonly number[] } = {},
): Promise<CleanupWorker> {
  await sql`INSERT INTO sweeps (name, last_run_at)
    SELECT name, now() FROM unnest(${[...SWEEPS]}::text[]) AS name ON CONFLICT DO NOTHING`.execute(
    database.db,
  );
  const worker = openCleanupWorker({
    db: database.db,
    auditDb: database.db,
    store,
    backend,
    logger,
    metrics: createMetrics('test'),
    relayKick: more.relayKick ?? (() => undefined),
    thumbnailWidths: more.widths ?? WIDTHS,
    concurrency: 4,
    secondPassAfterMs: 0,
    intervals: NEVER,
  });
  closers.push(() => worker.close());
  return worker;
}

const SWEEPS = [
  'sweep-uploads',
  'delete-files-of-deleted-users',
  'requeue-deletions',
  'requeue-postings',
  'requeue-renders',
  'expire-rows',
  'empty-quarantine',
  'audit',
] as const;

const stores = objectStores();
const jobs = async (name: string) =>
  (
    await sql<{ payload: { fileId: string } }>`
      SELECT payload FROM outbox WHERE name = ${name} AND failed_at IS NULL`.execute(database.db)
  ).rows.map((row) => row.payload.fileId);

describe.each(stores.map(({ name, options }, n) => ({ name, options, n })))(
  'dead uploads on $name',
  ({ options, n }) => {
    it('leave no object, no unfinished write, no reservation, with two processes sweeping at once', async () => {
      const services = await openServices(queueBackends()[0]!.options, n);
      const { store } = services;
      const workers = [await openWorker(services), await openWorker(services)];
      const ids = Array.from({ length: 30 }, () => randomUUID());
      await sql`INSERT INTO uploads (id, user_id, reserved_bytes, lease_until)
        SELECT id, ${user}::uuid, 10, now() - interval '1 second' FROM unnest(${ids}::uuid[]) AS id`.execute(
        database.db,
      );
      await sql`UPDATE quotas SET reserved_bytes = 300 WHERE user_id = ${user}::uuid`.execute(database.db);
      for (const id of ids.slice(1))
        await store.put(originalKey(id, 0), Buffer.from('part'), { contentType: 'text/plain' });
      // A process that died in the middle of a large part, past the first piece of a multipart upload.
      const stuck = new AbortController();
      let reached = () => {};
      const underWay = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const put = store.put(
        originalKey(ids[0]!, 0),
        hanging(20 * 1024 * 1024, () => reached()),
        {
          contentType: 'text/plain',
          signal: stuck.signal,
        },
      );
      const failed = expect(put).rejects.toThrow();
      await underWay;
      expect(await leftovers(options, originalsPrefix(ids[0]!))).toHaveLength(1);

      await Promise.all(workers.map((worker) => worker.runSweep('sweep-uploads')));
      await Promise.all(workers.map((worker) => worker.runSweep('sweep-uploads')));

      for (const id of ids) {
        expect(await leftovers(options, originalsPrefix(id))).toEqual([]);
        expect(await store.head(originalKey(id, 0))).toBeUndefined();
      }
      expect(await database.db.selectFrom('uploads').selectAll().execute()).toEqual([]);
      expect(await readBooks(database.db, user)).toMatchObject({ reserved: 0 });
      stuck.abort(new Error('over'));
      await failed;
    });
  },
);

describe.each(queueBackends())('work on $name', ({ options }) => {
  it('that the queue has lost entirely is done all the same', async () => {
    const services = await openServices(options);
    const { backend, store } = services;
    const metrics = createMetrics('test');
    const relays = [1, 2].map(() => createRelay({ db: database.db, backend, logger, metrics, pollMs: 100 }));
    for (const relay of relays) {
      closers.push(() => relay.close());
      relay.start();
    }
    const files = await Promise.all(
      Array.from({ length: 20 }, () => makeFile(database.db, user, { size_bytes: 4, posted_at: new Date() })),
    );
    for (const { object_key } of files)
      await store.put(object_key, Buffer.from('byte'), { contentType: 'text/plain' });
    await sql`UPDATE files SET state = 'deleting', deleted_at = now()`.execute(database.db);
    await insertJobs(
      database.db,
      files.map(({ id }) => ({ name: 'delete-file', payload: { v: 1, fileId: id } })),
    );
    for (const relay of relays) relay.kick();
    await waitFor(async () => (await backend.queue('cleanup').getWaitingCount()) === files.length);
    await waitFor(
      async () => (await backend.queue('mail').getBackend().getQueueMetaField('stowage-outbox')) !== null,
    );

    if (options.kind === 'redis') await flush(options.url);
    else for (const name of QUEUE_NAMES) await backend.queue(name).obliterate({ force: true });

    await openWorker(services);
    await waitFor(async () => (await readBooks(database.db, user)).stored === 0);
    for (const { object_key } of files) expect(await store.head(object_key)).toBeUndefined();
  });

  it('of a deletion that has no job any more is taken up by the sweep and brought to its end', async () => {
    const services = await openServices(options);
    const { backend, store } = services;
    const relay = createRelay({
      db: database.db,
      backend,
      logger,
      metrics: createMetrics('test'),
      pollMs: 100,
    });
    closers.push(() => relay.close());
    relay.start();
    const workers = [
      await openWorker(services, { relayKick: relay.kick }),
      await openWorker(services, { relayKick: relay.kick }),
    ];
    const file = await makeFile(database.db, user, { posted_at: new Date(), size_bytes: 4 });
    await store.put(file.object_key, Buffer.from('byte'), { contentType: 'text/plain' });
    await sql`UPDATE files SET state = 'deleting', deleted_at = now()`.execute(database.db);
    await Promise.all(workers.map((worker) => worker.runSweep('requeue-deletions')));
    await waitFor(async () => (await readBooks(database.db, user)).stored === 0);
    expect(await store.head(file.object_key)).toBeUndefined();
    expect(await readBooks(database.db, user)).toMatchObject({ files: 0, adjustment: 0 });
  });
});

describe('work without a job', () => {
  it('gets one job each, with two processes sweeping at once', async () => {
    const services = await openServices(queueBackends()[0]!.options);
    const workers = [await openWorker(services), await openWorker(services)];
    const files = await Promise.all(Array.from({ length: 20 }, () => makeFile(database.db, user)));
    await sql`UPDATE files SET state = 'deleting', deleted_at = now()`.execute(database.db);
    for (const name of ['requeue-deletions', 'requeue-postings', 'requeue-deletions', 'requeue-postings'])
      await Promise.all(workers.map((worker) => worker.runSweep(name)));
    expect((await jobs('delete-file')).toSorted()).toEqual(files.map(({ id }) => id).toSorted());
    expect(await jobs('post-usage')).toHaveLength(1);
  });
});

describe('pictures', () => {
  const picture = (values: Parameters<typeof makeFile>[2]) =>
    makeFile(database.db, user, { content_type: 'image/png', extension: 'png', ...values });
  const outstanding = async () =>
    (
      await database.db
        .selectFrom('quotas')
        .select('renders_outstanding')
        .where('user_id', '=', user)
        .executeTakeFirstOrThrow()
    ).renders_outstanding;

  it('whose render was lost get a job, one each, with two processes sweeping at once', async () => {
    const services = await openServices(queueBackends()[0]!.options);
    const workers = [await openWorker(services), await openWorker(services)];
    const hourAgo = new Date(Date.now() - HOUR_MS);
    const lost = await Promise.all(
      Array.from({ length: 20 }, () => picture({ render_state: 'pending', created_at: hourAgo })),
    );
    await sql`UPDATE quotas SET renders_outstanding = 20`.execute(database.db);
    for (let round = 0; round < 3; round += 1)
      await Promise.all(workers.map((worker) => worker.runSweep('requeue-renders')));
    expect((await jobs('render-thumbnails')).toSorted()).toEqual(lost.map(({ id }) => id).toSorted());
    expect(await outstanding()).toBe(20);
  });

  it('get the widths that were added to the configuration, with two processes sweeping at once', async () => {
    const services = await openServices(queueBackends()[0]!.options);
    const before = await Promise.all(
      Array.from({ length: 20 }, () =>
        picture({ render_state: 'rendered', rendered_set: renderedSet(WIDTHS), width: 300, height: 300 }),
      ),
    );
    const old = await openWorker(services);
    await old.runSweep('requeue-renders');
    expect(await jobs('render-thumbnails')).toEqual([]);
    const widths = [...WIDTHS, 256];
    const workers = [await openWorker(services, { widths }), await openWorker(services, { widths })];
    for (let round = 0; round < 3; round += 1)
      await Promise.all(workers.map((worker) => worker.runSweep('requeue-renders')));
    expect((await jobs('render-thumbnails')).toSorted()).toEqual(before.map(({ id }) => id).toSorted());
    expect(await outstanding()).toBe(20);
  });
});

describe('the audit on a schedule', () => {
  /** What a process shows at /metrics. */
  async function shown(): Promise<Record<string, number>> {
    const { registry } = createMetrics('another process');
    createAuditGauges(registry, () => readLastAudit(database.db));
    const text = await registry.metrics();
    const lines = text.matchAll(/^(stowage_(?:audit|quota)\w+)\{(?:invariant="(I\d)",)?[^}]*\} (\S+)$/gm);
    return Object.fromEntries([...lines].map(([, name, of, value]) => [of ?? name, Number(value)]));
  }

  it('shows the drift of quotas in all processes, and mends nothing', async () => {
    const worker = await openWorker(await openServices(queueBackends()[0]!.options));
    expect(await shown()).toEqual({
      stowage_audit_last_success_timestamp_seconds: 0,
      stowage_quota_drift_bytes: 0,
    });
    await worker.runSweep('audit');
    const clean = { I1: 0, I2: 0, I3: 0, I4: 0, I5: 0, stowage_quota_drift_bytes: 0 };
    expect(await shown()).toMatchObject(clean);

    await sql`UPDATE quotas SET stored_bytes = 77`.execute(database.db);
    await worker.runSweep('audit');
    const found = await shown();
    expect(found).toMatchObject({ ...clean, I2: 1, stowage_quota_drift_bytes: 77 });
    expect(Date.now() / 1_000 - found.stowage_audit_last_success_timestamp_seconds!).toBeLessThan(60);
    expect(await faultsInBooks(database.db, user)).toHaveLength(2);

    await sql`UPDATE quotas SET stored_bytes = 0`.execute(database.db);
    await worker.runSweep('audit');
    expect(await shown()).toMatchObject(clean);
  });

  it('comes back soon when it was cut short, and shows the last one that was not', async () => {
    const services = await openServices(queueBackends()[0]!.options);
    const worker = await openWorker(services);
    await worker.runSweep('audit');
    const before = await shown();
    const away: ObjectStore = {
      ...services.store,
      list: () => {
        throw new Error('away');
      },
    };
    const cut = await openWorker({ ...services, store: away });
    await expect(cut.runSweep('audit')).rejects.toThrow('away');
    expect(await shown()).toEqual(before);
    const { rows } = await sql<{ minutes: number }>`
      SELECT extract(epoch FROM last_run_at - now() + ${NEVER.audit} * interval '1 millisecond')::float8 / 60 AS minutes
      FROM sweeps WHERE name = 'audit'`.execute(database.db);
    expect(Math.round(rows[0]!.minutes)).toBe(5);
  });
});

async function* hanging(bytes: number, reached: () => void): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(65_536);
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk;
  reached();
  await new Promise(() => undefined);
}

async function flush(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushdb();
  redis.disconnect();
}
