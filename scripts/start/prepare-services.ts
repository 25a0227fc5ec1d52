import type { Config } from '@stowage/shared/config/config.ts';
import { migrateSchema } from '@stowage/shared/database/migrate.ts';
import { migrateQueue } from '@stowage/shared/database/migrate-queue.ts';
import { openDatabase } from '@stowage/shared/database/open-database.ts';
import { ensureBucket } from '@stowage/shared/objects/s3/ensure-bucket.ts';
import { objectStoreOptions } from '@stowage/shared/process/open-services.ts';

/** An index on a large table takes its time. */
const STATEMENT_TIMEOUT_MS = 30 * 60_000;

/**
 * Brings all tables up to date and makes the bucket when the object store is S3 and it is missing. Returns the
 * names of the migrations that ran. Safe to run twice at once.
 */
export async function prepareServices(config: Config): Promise<string[]> {
  const db = openDatabase({
    url: config.databaseUrl,
    poolSize: 1,
    applicationName: 'stowage-migrate',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: () => undefined,
  });
  try {
    const ran = await migrateSchema(db);
    // With the queue on Redis BullMQ has no tables.
    if (config.queue === 'postgres') await migrateQueue(config.databaseUrl);
    const objects = objectStoreOptions(config);
    if (objects.kind === 's3') await ensureBucket(objects);
    return ran;
  } finally {
    await db.destroy();
  }
}
