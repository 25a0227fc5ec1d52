/** The counterpart of a large upload: the SDK's `Upload` of bytes that are in memory. Tells how long each took. */
import { randomUUID } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';

const [endpoint = '', accessKeyId = '', secretAccessKey = '', Bucket = '', size = '0'] =
  process.argv.slice(2);
const client = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId, secretAccessKey },
});
const Body = Buffer.alloc(Number(size), 'a line of text that is stored\n');

process.on('message', () => {
  const startedAt = performance.now();
  const upload = new Upload({ client, params: { Bucket, Key: randomUUID(), Body } });
  upload.done().then(
    () => process.send?.(performance.now() - startedAt),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.send?.('ready');
