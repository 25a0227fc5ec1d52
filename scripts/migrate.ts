import { ConfigError, readSettings } from '@stowage/shared/config/config.ts';
import { migrateDatabase } from './start/migrate-database.ts';

/** Brings the tables of DATABASE_URL up to date. Needs nothing else; safe to run at any time, also twice at once. */
async function main(): Promise<void> {
  const settings = readSettings(process.env);
  if (settings.databaseUrl === undefined) {
    throw new ConfigError(['DATABASE_URL is missing: it names the database to migrate']);
  }
  const queue = settings.queue ?? (settings.redisUrl === undefined ? 'postgres' : 'redis');
  const ran = await migrateDatabase({ databaseUrl: settings.databaseUrl, queue });
  console.log(ran.length === 0 ? 'The tables are up to date.' : `Migrated: ${ran.join(', ')}.`);
}

try {
  await main();
} catch (error) {
  if (error instanceof ConfigError) {
    console.error(error.message);
    process.exit(78);
  }
  console.error('The migration failed:', error);
  process.exit(1);
}
