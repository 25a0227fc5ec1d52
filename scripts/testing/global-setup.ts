import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateSchema } from '@stowage/shared/database/migrate.ts';
import { migrateQueue } from '@stowage/shared/database/migrate-queue.ts';
import { openDatabase } from '@stowage/shared/database/open-database.ts';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../start/postgres/embedded-postgres.ts';
import { stopLeftoverServer } from '../start/postgres/leftover-server.ts';
import { isSameProcess, type ProcessIdentity, processIdentity } from '../start/processes.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where test databases are made. */
    testServerUrl: string;
    /** The migrated database that each test file's own is cloned from. */
    testTemplate: string;
  }
}

const PREFIX = 'stowage-test-postgres-';
/** Says which test run a server belongs to. */
const OWNER = 'owner.json';

/** Runs once before all tests: a Postgres server (embedded, or TEST_DATABASE_URL) with a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await openServer();
  const template = `stowage_template_${process.pid}_${Date.now().toString(36)}`;
  try {
    await execute(server.url, `CREATE DATABASE ${template}`);
    await migrate(withDatabase(server.url, template));
  } catch (error) {
    await server.close();
    throw error;
  }
  project.provide('testServerUrl', server.url);
  project.provide('testTemplate', template);
  return async () => {
    await execute(server.url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await server.close();
  };
}

async function openServer(): Promise<{ url: string; close(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined && given !== '') return { url: given, close: async () => undefined };
  await removeLeftovers();
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await writeFile(join(folder, OWNER), JSON.stringify(await processIdentity(process.pid)));
  const server = await openEmbeddedPostgres({ folder, durable: false, settings: { shared_buffers: '64MB' } });
  return {
    url: server.url,
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Test runs that were killed leave their servers behind. */
async function removeLeftovers(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    const text = await readFile(join(folder, OWNER), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const owner: ProcessIdentity = JSON.parse(text);
    if (await isSameProcess(owner)) continue;
    await stopLeftoverServer(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true });
  }
}

async function migrate(url: string): Promise<void> {
  const db = openDatabase({
    url,
    poolSize: 1,
    applicationName: 'stowage-test-setup',
    statementTimeoutMs: 60_000,
    onIdleError: () => undefined,
  });
  try {
    await migrateSchema(db);
  } finally {
    await db.destroy();
  }
  await migrateQueue(url);
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
