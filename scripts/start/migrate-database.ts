import { migrateSchema } from '@stowage/shared/database/migrate.ts';
import { migrateQueue } from '@stowage/shared/database/migrate-queue.ts';
import { openDatabase } from '@stowage/shared/database/open-database.ts';

export interface MigrateOptions {
  readonly databaseUrl: string;
  /** BullMQ's tables are only needed when the queue is on Postgres. */
  readonly queue: 'postgres' | 'redis';
}

/** An index on a large table takes its time. */
const STATEMENT_TIMEOUT_MS = 30 * 60_000;

/** Brings all tables up to date, and returns the names of the migrations that ran. */
export async function migrateDatabase(options: MigrateOptions): Promise<string[]> {
  const db = openDatabase({
    url: options.databaseUrl,
    poolSize: 1,
    applicationName: 'stowage-migrate',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: () => undefined,
  });
  try {
    const ran = await migrateSchema(db);
    if (options.queue === 'postgres') await migrateQueue(options.databaseUrl);
    return ran;
  } finally {
    await db.destroy();
  }
}
