import { runMigrations } from 'bullmq';
import pg from 'pg';

/** Brings BullMQ's own tables (schema `bullmq`) up to date. Only needed when the queue is on Postgres. Safe to run twice at once. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  // BullMQ wants one session for its lock and its transaction, so a client and not a pool.
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'stowage-migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
