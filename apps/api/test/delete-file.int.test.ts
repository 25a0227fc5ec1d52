import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import { deleteFile } from '../src/files/delete-file.ts';

let database: TestDatabase;
let owner: string;
let file: TestFile;
let kicks: number;
let forgotten: string[];

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  owner = await makeUser(database.db);
  file = await makeFile(database.db, owner);
  kicks = 0;
  forgotten = [];
});

const relayKick = () => {
  kicks += 1;
};
const settled = async () => undefined;

function remove(
  userId: string,
  { role = 'user' as 'user' | 'admin', stem = file.stem, extension = 'txt' } = {},
) {
  const deps = {
    db: database.db,
    relayKick,
    settle: settled,
    forget: (gone: string) => forgotten.push(gone),
  };
  return deleteFile(deps, { caller: { userId, role }, stem, extension, requestId: 'req' });
}

async function stateOf(): Promise<string | undefined> {
  return (await database.db.selectFrom('files').select('state').where('id', '=', file.id).executeTakeFirst())
    ?.state;
}

function jobs() {
  return database.db
    .selectFrom('outbox')
    .select(['queue', 'name', 'request_id'])
    .where(sql`payload->>'fileId'`, '=', file.id)
    .execute();
}

describe('deleting a file', () => {
  it('marks it, with the job of the request, and refunds nothing yet', async () => {
    await remove(owner);
    expect(await stateOf()).toBe('deleting');
    expect(await jobs()).toEqual([{ queue: 'cleanup', name: 'delete-file', request_id: 'req' }]);
    expect(kicks).toBe(1);
    expect(forgotten).toEqual([file.stem]);
    expect(await faultsInBooks(database.db, owner)).toEqual([]);
  });

  it('is for administrators too', async () => {
    await remove(await makeUser(database.db), { role: 'admin' });
    expect(await stateOf()).toBe('deleting');
  });

  it('is refused to another user', async () => {
    const stranger = await makeUser(database.db);
    await expect(remove(stranger)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await stateOf()).toBe('stored');
    expect(await jobs()).toEqual([]);
  });

  it('finds no file of an unknown name, of another extension, or that is deleted', async () => {
    await expect(remove(owner, { stem: 'unknown' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(remove(owner, { extension: 'jpg' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await remove(owner);
    await expect(remove(owner)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    expect(await jobs()).toHaveLength(1);
  });

  it('makes one job when it is asked for many times at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => remove(owner)));
    expect(results.some((result) => result.status === 'fulfilled')).toBe(true);
    expect(await jobs()).toHaveLength(1);
  });

  it('answers only when the deletion, committed, is known to every process', async () => {
    let settle = (): void => undefined;
    let state: string | undefined;
    let answered = false;
    const committed = new Promise<void>((resolve) => {
      const wait = async () => {
        state = await stateOf();
        resolve();
        await new Promise<void>((done) => {
          settle = done;
        });
      };
      const request = { caller: { userId: owner, role: 'user' as const }, stem: file.stem, extension: 'txt' };
      void deleteFile({ db: database.db, relayKick, settle: wait }, { ...request, requestId: 'r' }).then(
        () => {
          answered = true;
        },
      );
    });
    await committed;
    await new Promise(setImmediate);
    expect([state, answered]).toEqual(['deleting', false]);
    settle();
    await new Promise(setImmediate);
    expect(answered).toBe(true);
  });
});
