import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import * as initial from './migrations/0001-initial.ts';
import type { Db } from './open-database.ts';

const MIGRATIONS: Record<string, Migration> = { '0001-initial': initial };

const provider: MigrationProvider = { getMigrations: async () => MIGRATIONS };

/** Brings the schema up to date and returns the names of the migrations that ran. Safe to run twice at once. */
export async function migrateSchema(db: Db): Promise<string[]> {
  const { error, results } = await new Migrator({ db, provider }).migrateToLatest();
  if (error !== undefined) throw error;
  return (results ?? []).filter((result) => result.status === 'Success').map((r) => r.migrationName);
}
