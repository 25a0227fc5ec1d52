import { basename } from 'node:path';
import { expect } from 'vitest';
import { testBucket, testRedisUrl, testS3 } from './service-addresses.ts';

// Runs before each test file, in its process: an empty Redis database and a new bucket of its own, where there are such.
const file = expect.getState().testPath ?? '';
if (basename(file).endsWith('.int.test.ts')) {
  await Promise.all([emptyRedis(), makeBucket()]);
}

async function emptyRedis(): Promise<void> {
  const url = testRedisUrl();
  if (url === undefined) return;
  const { Redis } = await import('ioredis');
  const redis = new Redis(url);
  try {
    await redis.flushdb();
  } finally {
    redis.disconnect();
  }
}

async function makeBucket(): Promise<void> {
  const s3 = testS3();
  if (s3 === undefined) return;
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: s3.region,
    forcePathStyle: true,
    credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
  });
  try {
    await client.send(new CreateBucketCommand({ Bucket: testBucket() }));
  } finally {
    client.destroy();
  }
}
