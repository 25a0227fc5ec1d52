import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { AppError } from '../../errors/app-error.ts';
import { type BreakableLine, openBreakableLine } from '../../queues/test/breakable-line.ts';
import { type Db, openDatabase } from '../open-database.ts';

let database: TestDatabase;
let line: BreakableLine;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  line = await openBreakableLine(database.url, 5432);
  db = openDatabase({
    url: line.url,
    poolSize: 2,
    applicationName: 'hangs',
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 1_000,
    probeMs: 50,
    onIdleError: () => undefined,
  });
});
afterEach(async () => {
  await db.destroy();
  await line.close();
});

const ask = () => sql`SELECT 1 AS one`.execute(db);
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );
const isBack = () => waitFor(async () => (await codeOf(ask())) === 'done');

describe('a database that is away', () => {
  test('fails statements as DATABASE_UNAVAILABLE, and they work again once it is back', async () => {
    await ask();
    line.cut();
    expect(await codeOf(ask())).toBe('DATABASE_UNAVAILABLE');
    expect(await codeOf(db.transaction().execute((trx) => sql`SELECT 1`.execute(trx)))).toBe(
      'DATABASE_UNAVAILABLE',
    );
    line.mend();
    await isBack();
  });

  test('and hangs instead of refusing is treated the same, after one deadline', async () => {
    await ask();
    line.freeze();
    expect(await codeOf(ask())).toBe('DATABASE_UNAVAILABLE');
  });

  test('and hangs fails everything after the first deadline at once, and leaves no connection behind', async () => {
    await Promise.all([ask(), ask()]);
    line.freeze();
    expect(await codeOf(ask())).toBe('DATABASE_UNAVAILABLE');
    const tried = line.tried();
    const many = await Promise.all(Array.from({ length: 100 }, () => codeOf(ask())));
    expect(new Set(many)).toEqual(new Set(['DATABASE_UNAVAILABLE']));
    // None of them went to look for itself.
    expect(line.tried() - tried).toBeLessThan(10);
    line.mend();
    await isBack();
    await waitFor(async () => {
      const { rows } = await sql<{ n: number }>`
        SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'hangs'`.execute(database.db);
      return (rows[0]?.n ?? 0) <= 2;
    });
  });

  test('in the middle of a transaction ends it, without waiting for each statement of it', async () => {
    const seen: string[] = [];
    const work = db.transaction().execute(async (trx) => {
      await sql`SELECT 1`.execute(trx);
      line.freeze();
      for (let again = 0; again < 20; again += 1) seen.push(await codeOf(sql`SELECT 2`.execute(trx)));
      throw new Error('given up');
    });
    expect(await codeOf(work)).not.toBe('done');
    expect(new Set(seen)).toEqual(new Set(['DATABASE_UNAVAILABLE']));
    line.mend();
    await isBack();
  });

  test('does not keep anyone from closing', async () => {
    await ask();
    line.freeze();
    await codeOf(ask());
    await db.destroy();
    expect(await codeOf(ask())).not.toBe('done');
  });
});

describe('a database that is there', () => {
  test('tells of a statement that is wrong, or too slow, as it is', async () => {
    await expect(sql`SELECT nonsense`.execute(db)).rejects.toMatchObject({ code: '42703' });
    await expect(sql`SELECT pg_sleep(60)`.execute(db)).rejects.toMatchObject({ code: '57014' });
    await ask();
  });

  test('but has no connection free in time is overloaded, not away', async () => {
    const held = Promise.withResolvers<void>();
    const inUse = Array.from({ length: 2 }, () =>
      db.transaction().execute(async (trx) => {
        // Answers keep coming, so it is there.
        let holding = true;
        void held.promise.then(() => {
          holding = false;
        });
        while (holding) await sql`SELECT pg_sleep(0.01)`.execute(trx);
      }),
    );
    expect(await codeOf(ask())).toBe('OVERLOADED');
    held.resolve();
    await Promise.all(inUse);
    await ask();
  });
});
