import { openFilesystemStore } from './filesystem/filesystem-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { S3StoreOptions } from './s3/s3-options.ts';
import { openS3Store } from './s3/s3-store.ts';

export type ObjectStoreOptions =
  | {
      readonly kind: 'filesystem';
      /** Folder of the objects; it is made when it is missing. All objects lie in one file system. */
      readonly folder: string;
    }
  | ({ readonly kind: 's3' } & S3StoreOptions);

/** Opens the store. An S3 bucket is expected to exist: `ensureBucket` makes it, once, at migration time. */
export function openObjectStore(options: ObjectStoreOptions): ObjectStore {
  return options.kind === 'filesystem' ? openFilesystemStore(options) : openS3Store(options);
}
