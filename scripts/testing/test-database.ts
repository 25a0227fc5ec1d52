import { randomBytes } from 'node:crypto';
import { type Db, openDatabase } from '@stowage/shared/database/open-database.ts';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly db: Db;
  readonly url: string;
  close(): Promise<void>;
}

const firstName = randomName();
let opened = 0;

/** The address of the database which the first `openTestDatabase` of this test file makes; known before it is there. */
export function firstTestDatabaseUrl(): string {
  return databaseUrl(firstName);
}

/** A migrated, empty database of the calling test file's own. Close it in `afterAll`. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const name = opened === 0 ? firstName : randomName();
  opened += 1;
  await onServer((client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${inject('testTemplate')}`));
  const url = databaseUrl(name);
  const db = openDatabase({
    url,
    poolSize: 8,
    applicationName: 'stowage-test',
    statementTimeoutMs: 20_000,
    onIdleError: () => undefined,
  });
  return {
    db,
    url,
    close: async () => {
      await db.destroy();
      // FORCE: a worker under test may still hold a connection.
      await onServer((client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

function randomName(): string {
  return `test_${randomBytes(8).toString('hex')}`;
}

function databaseUrl(name: string): string {
  const url = new URL(inject('testServerUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('testServerUrl') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
