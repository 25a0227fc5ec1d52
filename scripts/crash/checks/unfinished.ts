import { loadConfig } from '@stowage/shared/config/config.ts';
import { objectStoreOptions } from '@stowage/shared/process/open-services.ts';
import { createS3Control } from '../../../shared/objects/s3/s3-control.ts';
import type { World } from '../world.ts';

/** At rest the S3 server keeps nothing of uploads that were never completed: nobody would ever remove it. */
export async function checkUnfinished({ environment, tally }: World): Promise<void> {
  const options = objectStoreOptions(loadConfig(environment));
  if (options.kind !== 's3') return;
  const control = createS3Control(options);
  try {
    for await (const { key } of control.unfinished(''))
      tally.violation(`an unfinished multipart upload of ${key} is left`);
  } finally {
    control.close();
  }
}
