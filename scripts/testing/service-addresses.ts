import { randomBytes } from 'node:crypto';

/** Where the S3 server for tests is, and who may use it. */
export interface TestS3 {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const bucket = `stowage-test-${randomBytes(6).toString('hex')}`;

/** The S3 server that TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID and TEST_S3_SECRET_ACCESS_KEY name, if they do. */
export function testS3(): TestS3 | undefined {
  const endpoint = process.env.TEST_S3_ENDPOINT;
  const accessKeyId = process.env.TEST_S3_ACCESS_KEY_ID;
  const secretAccessKey = process.env.TEST_S3_SECRET_ACCESS_KEY;
  if (!endpoint || !accessKeyId || !secretAccessKey) return undefined;
  return { endpoint, region: 'us-east-1', accessKeyId, secretAccessKey };
}

/** The bucket of the running test file; `prepare-services.ts` makes it. */
export function testBucket(): string {
  return bucket;
}

/** The Redis that TEST_REDIS_URL names, with a database number per parallel test process (emptied for each file). */
export function testRedisUrl(): string | undefined {
  const given = process.env.TEST_REDIS_URL;
  if (!given) return undefined;
  const url = new URL(given);
  url.pathname = `/${1 + (Number(process.env.VITEST_POOL_ID ?? 0) % 15)}`;
  return url.href;
}
