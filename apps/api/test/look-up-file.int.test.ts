import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { createFileLookUp } from '../src/files/look-up-file.ts';

let database: TestDatabase;
let userId: string;
beforeAll(async () => {
  database = await openTestDatabase();
  userId = await makeUser(database.db);
});
afterAll(() => database?.close());

/** A look-up whose time the test makes go by, and which counts its queries. */
function lookUp() {
  let queries = 0;
  let time = 0;
  let isAway = false;
  let breaks = 0;
  const db: Db = database.db.withPlugin({
    transformQuery: ({ node }) => {
      queries += 1;
      if (isAway) throw new Error('Postgres is away');
      if (breaks-- > 0) throw new AppError('DATABASE_UNAVAILABLE', 'a connection broke');
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const files = createFileLookUp({ db, freshMs: 250, staleMs: 300_000, now: () => time });
  return {
    ...files,
    queries: () => queries,
    pass: (ms: number) => {
      time += ms;
    },
    goAway: () => {
      isAway = true;
    },
    breakNext: (connections: number) => {
      breaks = connections;
    },
  };
}

describe('looking up a file', () => {
  it('asks once for all who want it within 250 ms, found or not', async () => {
    const files = lookUp();
    const { stem, id } = await makeFile(database.db, userId);
    const found = await Promise.all(Array.from({ length: 50 }, () => files.find(stem)));
    files.pass(249);
    expect(await files.find(stem)).toMatchObject({ id });
    expect(new Set(found.map((file) => file?.id))).toEqual(new Set([id]));
    expect(files.queries()).toBe(1);
    expect([await files.find('unknown'), await files.find('unknown')]).toEqual([undefined, undefined]);
    expect(files.queries()).toBe(2);
  });

  it('never joins a question that is older than that, even while it is not answered', async () => {
    const files = lookUp();
    const { stem } = await makeFile(database.db, userId);
    const first = files.find(stem);
    files.pass(250);
    const second = files.find(stem);
    expect(files.queries()).toBe(2);
    await Promise.all([first, second]);
  });

  it('does not find a file that is being deleted', async () => {
    const files = lookUp();
    const { stem } = await makeFile(database.db, userId, { state: 'deleting' });
    expect(await files.find(stem)).toBeUndefined();
  });

  it('remembers what Postgres said last, for five minutes', async () => {
    const files = lookUp();
    const { stem, id } = await makeFile(database.db, userId);
    expect(files.lastKnown(stem)).toBeUndefined();
    await files.find(stem);
    files.goAway();
    files.pass(250);
    for (let again = 0; again < 2; again += 1) {
      await expect(files.find(stem)).rejects.toThrow('away');
      expect(files.lastKnown(stem)).toMatchObject({ id });
      files.pass(250);
    }
    files.pass(300_000 - 750);
    expect(files.lastKnown(stem)).toMatchObject({ id });
    files.pass(1);
    expect(files.lastKnown(stem)).toBeUndefined();
  });

  it('asks again when a connection broke, before it says that Postgres does not answer', async () => {
    const files = lookUp();
    const { stem } = await makeFile(database.db, userId);
    await files.find(stem);
    await database.db.updateTable('files').set({ state: 'deleting' }).where('stem', '=', stem).execute();
    files.pass(250);
    files.breakNext(1);
    expect(await files.find(stem)).toBeUndefined();
    files.pass(250);
    files.breakNext(2);
    await expect(files.find(stem)).rejects.toThrow('broke');
  });

  it('forgets a file that was deleted here, also when Postgres goes away right after that', async () => {
    const files = lookUp();
    const { stem } = await makeFile(database.db, userId);
    await files.find(stem);
    files.forget(stem);
    files.goAway();
    await expect(files.find(stem)).rejects.toThrow('away');
    expect(files.lastKnown(stem)).toBeUndefined();
  });

  it('also remembers that there was none', async () => {
    const files = lookUp();
    const { stem } = await makeFile(database.db, userId);
    await files.find(stem);
    await database.db.updateTable('files').set({ state: 'deleting' }).where('stem', '=', stem).execute();
    files.pass(250);
    await files.find(stem);
    expect(files.lastKnown(stem)).toBeUndefined();
  });
});
