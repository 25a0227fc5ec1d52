import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectStoreOptions } from '@stowage/shared/objects/open-object-store.ts';
import type { QueueBackendOptions } from '@stowage/shared/queues/open-queue-backend.ts';
import { afterAll } from 'vitest';
import { testBucket, testRedisUrl, testS3 } from './service-addresses.ts';
import { firstTestDatabaseUrl } from './test-database.ts';

/**
 * The queue backends to run a contract suite on: Postgres always, Redis when TEST_REDIS_URL names a server. The one on
 * Postgres lives in the file's first test database, which must be open before it is used.
 */
export function queueBackends(): { name: string; options: QueueBackendOptions }[] {
  const backends: { name: string; options: QueueBackendOptions }[] = [
    { name: 'Postgres', options: { kind: 'postgres', databaseUrl: firstTestDatabaseUrl() } },
  ];
  const redisUrl = testRedisUrl();
  if (redisUrl !== undefined) backends.push({ name: 'Redis', options: { kind: 'redis', url: redisUrl } });
  return backends;
}

/**
 * The object stores to run a contract suite on: a new folder always, and an S3 bucket of this test file's own when
 * TEST_S3_ENDPOINT names a server. Call it while tests are being collected (for `describe.each`).
 */
export function objectStores(): { name: string; options: ObjectStoreOptions }[] {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-test-objects-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const stores: { name: string; options: ObjectStoreOptions }[] = [
    { name: 'filesystem', options: { kind: 'filesystem', folder } },
  ];
  const s3 = testS3();
  if (s3 !== undefined) {
    stores.push({
      name: 'S3',
      options: { ...s3, kind: 's3', bucket: testBucket(), forcePathStyle: true, checksums: 'when_required' },
    });
  }
  return stores;
}
