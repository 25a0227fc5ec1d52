import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { createRelay, type Relay } from '@stowage/shared/outbox/create-relay.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import type { JobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { openQuotaAccountingWorker } from '../src/worker.ts';

const logger = pino({ level: 'silent' });

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

describe.each(queueBackends())('the quota-accounting workers on $name', ({ options }) => {
  let backend: QueueBackend;
  let relay: Relay;
  let workers: JobWorker[];

  beforeAll(async () => {
    backend = openQueueBackend(options, logger);
    const metrics = createMetrics('test');
    relay = createRelay({ db: database.db, backend, logger, metrics });
    relay.start();
    const open = () =>
      openQuotaAccountingWorker({ db: database.db, backend, logger, metrics, concurrency: 3 });
    workers = [open(), open()];
    await Promise.all(workers.map((worker) => worker.ready()));
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await relay.close();
    await backend.close();
  });

  it('post every charge of every user once, and leave no job behind', async () => {
    const users = await Promise.all(Array.from({ length: 5 }, () => makeUser(database.db)));
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const userId = users[n % users.length]!;
        await database.db.transaction().execute(async (trx) => {
          await makeFile(trx, userId, { size_bytes: n + 1 });
          await insertJobs(trx, [{ name: 'post-usage', payload: { v: 1, userId } }]);
        });
        relay.kick();
      }),
    );
    await waitFor(async () => (await database.db.selectFrom('outbox').select('id').execute()).length === 0);
    for (const user of users) {
      const books = await readBooks(database.db, user);
      expect(books).toMatchObject({ ledger: books.stored, unposted: 0 });
      expect(await faultsInBooks(database.db, user)).toEqual([]);
    }
  });
});
