import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { ObjectStoreOptions } from '../open-object-store.ts';
import { createS3Client } from '../s3/s3-control.ts';

/** Of a folder that holds objects. It stays. */
const MARKER = '.stowage-objects';

/** What unfinished writes left under a prefix, seen by other means than the adapter's own. */
export async function leftovers(options: ObjectStoreOptions, prefix: string): Promise<string[]> {
  if (options.kind === 'filesystem') {
    const names = await readdir(join(options.folder, prefix), { recursive: true }).catch(() => []);
    return names.filter((name) => name !== MARKER && (name.split('/').at(-1) ?? '').startsWith('.'));
  }
  const client = createS3Client(options);
  try {
    const page = await client.send(
      new ListMultipartUploadsCommand({ Bucket: options.bucket, Prefix: prefix }),
    );
    return (page.Uploads ?? []).map(({ Key }) => Key ?? '');
  } finally {
    client.destroy();
  }
}
