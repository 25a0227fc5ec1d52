import { expect, it } from 'vitest';
import { openTestDatabase } from '../testing/test-database.ts';

it('gives every caller a migrated database of its own', async () => {
  const [first, second] = await Promise.all([openTestDatabase(), openTestDatabase()]);
  try {
    await first.db
      .insertInto('users')
      .values({ email: 'a@example.com', username: 'a' } as never)
      .execute();
    expect(await first.db.selectFrom('users').select('username').execute()).toEqual([{ username: 'a' }]);
    expect(await second.db.selectFrom('users').select('username').execute()).toEqual([]);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});
