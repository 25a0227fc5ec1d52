import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config.ts';
import { type DatabaseOptions, type Db, openDatabase } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { type ObjectStoreOptions, openObjectStore } from '../objects/open-object-store.ts';
import { openQueueBackend, type QueueBackendOptions } from '../queues/open-queue-backend.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import type { RunningProcess } from './run-process.ts';

/** How long a process waits for Postgres, in ms. */
export type DatabasePatience = Pick<DatabaseOptions, 'connectTimeoutMs' | 'statementTimeoutMs'>;

/** The database of a process; its connections end with the process. `name` is shown in pg_stat_activity. */
export function openProcessDatabase(
  { config, logger, onClose }: RunningProcess,
  name: string,
  patience: DatabasePatience = {},
): Db {
  const db = openDatabase({
    ...patience,
    url: config.databaseUrl,
    poolSize: config.databasePoolSize,
    applicationName: `stowage-${name}`,
    onIdleError: (error) => logger.warn({ err: error }, 'a database connection was lost'),
  });
  onClose('database', () => db.destroy());
  return db;
}

/** The queues of a process, on the backend that the configuration names. */
export function openProcessQueues({ config, logger, onClose }: RunningProcess): QueueBackend {
  const backend = openQueueBackend(queueBackendOptions(config), logger);
  onClose('queues', () => backend.close());
  return backend;
}

/** The object store that the configuration names. */
export function openProcessObjectStore({ config, onClose }: RunningProcess): ObjectStore {
  const store = openObjectStore(objectStoreOptions(config));
  onClose('object store', () => store.close());
  return store;
}

/** @throws {ConfigError} when the queue is on Redis and its address is missing, which `loadConfig` has refused */
export function queueBackendOptions(config: Config): QueueBackendOptions {
  if (config.queue === 'postgres') return { kind: 'postgres', databaseUrl: config.databaseUrl };
  if (config.redisUrl === undefined) throw new ConfigError(['REDIS_URL is missing']);
  return { kind: 'redis', url: config.redisUrl };
}

/** @throws {ConfigError} when S3 settings are missing, which `loadConfig` has refused */
export function objectStoreOptions(config: Config): ObjectStoreOptions {
  if (config.objectStore === 'filesystem')
    return { kind: 'filesystem', folder: join(config.dataDir, 'objects') };
  const { s3Endpoint: endpoint, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = config;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigError(['S3_ENDPOINT, S3_ACCESS_KEY_ID or S3_SECRET_ACCESS_KEY is missing']);
  }
  return {
    kind: 's3',
    endpoint,
    region: config.s3Region,
    bucket: config.s3Bucket,
    accessKeyId,
    secretAccessKey,
    forcePathStyle: config.s3ForcePathStyle,
    checksums: config.s3Checksums,
    uploadBufferBytes: config.uploadBufferBytes,
  };
}
