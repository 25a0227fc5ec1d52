import { openAuditDatabase } from '@stowage/shared/audit/open-audit-database.ts';
import { type Config, ConfigError, loadConfig, readSettings } from '@stowage/shared/config/config.ts';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { objectStoreOptions, queueBackendOptions } from '@stowage/shared/process/open-services.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { operatedDatabaseUrl } from '../requeue/operated-database.ts';

export interface AuditedServices {
  readonly db: Db;
  readonly store: ObjectStore;
  readonly backend: QueueBackend;
  readonly thumbnailWidths: readonly number[];
  close(): Promise<void>;
}

/**
 * The services that the processes use: those that the environment names, and the embedded ones of the data folder.
 * @throws {ConfigError} when there is no database, or a variable is wrong
 */
export async function openAuditedServices(env: NodeJS.ProcessEnv): Promise<AuditedServices> {
  const config = await operatedConfig(env);
  const db = openAuditDatabase(config.databaseUrl, () => undefined);
  // Its failures show as the audit's own.
  const backend = openQueueBackend(
    queueBackendOptions(config),
    createLogger({ name: 'audit', level: 'silent' }),
  );
  const store = openObjectStore(objectStoreOptions(config));
  return {
    db,
    store,
    backend,
    thumbnailWidths: config.thumbnailWidths,
    async close() {
      await Promise.allSettled([store.close(), backend.close(), db.destroy()]);
    },
  };
}

async function operatedConfig(env: NodeJS.ProcessEnv): Promise<Config> {
  const settings = readSettings(env);
  const url = await operatedDatabaseUrl(settings);
  if (url === undefined)
    throw new ConfigError([
      `DATABASE_URL is missing, and no Stowage runs on the data folder ${settings.dataDir} (DATA_DIR)`,
    ]);
  // Nothing is encrypted or signed here: an operator's shell need not hold the secret.
  return loadConfig({ ...env, DATABASE_URL: url, SECRET_KEY: env.SECRET_KEY || 'not used here'.padEnd(32) });
}
