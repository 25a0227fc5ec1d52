import { CreateBucketCommand, HeadBucketCommand } from '@aws-sdk/client-s3';
import { unavailable } from '../failures.ts';
import { createS3Client } from './s3-control.ts';
import { S3_DEADLINES, type S3StoreOptions } from './s3-options.ts';

/** Makes the bucket when it is missing. To be called once, at migration time; safe to run twice at once. */
export async function ensureBucket(options: S3StoreOptions): Promise<void> {
  const client = createS3Client(options);
  const Bucket = options.bucket;
  const abortSignal = AbortSignal.timeout(options.deadlines?.controlMs ?? S3_DEADLINES.controlMs);
  try {
    if (await exists()) return;
    await client.send(new CreateBucketCommand({ Bucket }), { abortSignal }).catch(async (error: unknown) => {
      // Another process was faster.
      if (!(await exists())) throw error;
    });
  } catch (error) {
    throw unavailable(error);
  } finally {
    client.destroy();
  }

  async function exists(): Promise<boolean> {
    try {
      await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'NotFound') return false;
      throw error;
    }
  }
}
