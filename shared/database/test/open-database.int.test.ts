import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { openDatabase } from '../open-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test('a connection that breaks under a statement fails that statement, and nothing else', async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtException', note);
  const db = openDatabase({
    url: database.url,
    poolSize: 1,
    applicationName: 'breaks',
    onIdleError: () => undefined,
  });
  try {
    const failed = sql`SELECT pg_sleep(60)`.execute(db).then(
      () => 'done',
      (error: Error) => error.message,
    );
    await waitFor(async () => {
      const { rows } = await sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'breaks' AND state = 'active' AND query LIKE '%pg_sleep%'`.execute(
        database.db,
      );
      return rows.length > 0;
    });
    expect(await failed).toBe('The database does not answer.');
    // The next statement may still get the connection that is about to end.
    await waitFor(async () => (await sql`SELECT 1`.execute(db).catch(() => undefined))?.rows.length === 1);
    expect(uncaught).toEqual([]);
  } finally {
    process.off('uncaughtException', note);
    await db.destroy();
  }
});
