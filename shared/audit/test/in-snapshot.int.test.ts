import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser } from '../../../scripts/testing/test-rows.ts';
import { inSnapshot } from '../in-snapshot.ts';

const never = new AbortController().signal;

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test('a snapshot shows one moment, whatever is committed meanwhile', async () => {
  const users = async (db: TestDatabase['db']) =>
    (await db.selectFrom('users').select('id').execute()).length;
  await inSnapshot(database.db, never, async (snapshot) => {
    const before = await users(snapshot);
    await makeUser(database.db);
    expect(await users(snapshot)).toBe(before);
    expect(await users(database.db)).toBe(before + 1);
  });
});

test('nothing can be written in a snapshot', async () => {
  const write = inSnapshot(database.db, never, (snapshot) => sql`DELETE FROM users`.execute(snapshot));
  // Postgres: read_only_sql_transaction
  await expect(write).rejects.toMatchObject({ cause: { code: '25006' } });
});
