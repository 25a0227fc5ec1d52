import { randomUUID } from 'node:crypto';
import { requestDeletion } from '@stowage/shared/deletions/request-deletion.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { createRelay, type Relay } from '@stowage/shared/outbox/create-relay.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { originalKey } from '@stowage/shared/uploads/original-keys.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores, queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type CleanupWorker, openCleanupWorker } from '../src/worker.ts';

const logger = pino({ level: 'silent' });
const storeOptions = objectStores()[0]!.options;

let database: TestDatabase;
let store: ObjectStore;

beforeAll(async () => {
  database = await openTestDatabase();
  store = openObjectStore(storeOptions);
});

afterAll(async () => {
  await store.close();
  await database.close();
});

describe.each(queueBackends())('the cleanup worker on $name', ({ options }) => {
  let backend: QueueBackend;
  let relay: Relay;
  let worker: CleanupWorker;

  beforeAll(async () => {
    backend = openQueueBackend(options, logger);
    const metrics = createMetrics('test');
    relay = createRelay({ db: database.db, backend, logger, metrics, pollMs: 200 });
    relay.start();
    worker = openCleanupWorker({
      db: database.db,
      backend,
      store,
      logger,
      metrics,
      relayKick: relay.kick,
      auditDb: database.db,
      thumbnailWidths: [64],
      concurrency: 4,
      secondPassAfterMs: 0,
      intervals: { uploads: 200 },
    });
    await worker.ready();
  });

  afterAll(async () => {
    await worker.close();
    await relay.close();
    await backend.close();
  });

  it('removes a deleted file from beginning to end', async () => {
    const user = await makeUser(database.db);
    const file = await makeFile(database.db, user, { size_bytes: 5, posted_at: new Date() });
    await store.put(file.object_key, Buffer.from('bytes'), { contentType: 'text/plain' });
    await requestDeletion(database.db, { fileId: file.id, requestId: 'r' });
    relay.kick();
    await waitFor(async () => (await readBooks(database.db, user)).stored === 0);
    // The quota-accounting worker does this.
    await database.db
      .updateTable('files')
      .set({ refund_posted_at: new Date() })
      .where('id', '=', file.id)
      .execute();
    await waitFor(async () => {
      const row = await database.db
        .selectFrom('files')
        .select('id')
        .where('id', '=', file.id)
        .executeTakeFirst();
      return row === undefined;
    });
    expect(await store.head(file.object_key)).toBeUndefined();
  });

  it('clears away after an upload that was given up, without being asked', async () => {
    const user = await makeUser(database.db);
    const id = randomUUID();
    await store.put(originalKey(id, 0), Buffer.from('bytes'), { contentType: 'text/plain' });
    await database.db
      .insertInto('uploads')
      .values({ id, user_id: user, reserved_bytes: 0, state: 'abandoned', lease_until: new Date() })
      .execute();
    await waitFor(async () => (await store.head(originalKey(id, 0))) === undefined);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('runs every sweep there is', async () => {
    const sweeps = [
      'clean-failed-jobs',
      'sweep-uploads',
      'delete-files-of-deleted-users',
      'requeue-deletions',
      'requeue-postings',
      'requeue-renders',
      'expire-rows',
      'empty-quarantine',
      'audit',
    ];
    for (const name of sweeps) await worker.runSweep(name);
    const rows = await database.db.selectFrom('sweeps').select('name').execute();
    expect(rows.map((row) => row.name).sort()).toEqual(sweeps.sort());
  });
});
