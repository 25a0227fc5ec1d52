import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { adjustQuota } from '../../quota/adjust-quota.ts';
import { forgetFile } from '../forget-file.ts';
import { refundFile } from '../refund-file.ts';
import { requestDeletion, requestDeletionOfUser } from '../request-deletion.ts';

let database: TestDatabase;
let user: string;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  user = await makeUser(database.db);
});

async function deletedFile(sizeBytes: number): Promise<string> {
  const { id } = await makeFile(database.db, user, { size_bytes: sizeBytes });
  await requestDeletion(database.db, { fileId: id, requestId: 'r' });
  return id;
}

function refund(fileId: string): Promise<boolean> {
  return refundFile(database.db, { fileId, requestId: 'r' });
}

function set(bytes: number) {
  return adjustQuota(database.db, { userId: user, kind: 'set', bytes, actorId: user, requestId: 'r' });
}

function adjustments() {
  return database.db
    .selectFrom('quota_adjustments')
    .select(['bytes', 'reason'])
    .where('user_id', '=', user)
    .orderBy('id')
    .execute();
}

async function rendersOutstanding(): Promise<number> {
  const row = await database.db
    .selectFrom('quotas')
    .select('renders_outstanding')
    .where('user_id', '=', user)
    .executeTakeFirstOrThrow();
  return row.renders_outstanding;
}

describe('requesting a deletion', () => {
  it('happens once, however many ask at once', async () => {
    const { id } = await makeFile(database.db, user);
    const asked = await Promise.all(
      Array.from({ length: 10 }, () => requestDeletion(database.db, { fileId: id, requestId: 'r' })),
    );
    expect(asked.filter(Boolean)).toHaveLength(1);
    expect(await requestDeletion(database.db, { fileId: randomUUID(), requestId: 'r' })).toBe(false);
  });

  it('takes a picture that waits for its render out of the count of its owner', async () => {
    const waiting = await makeFile(database.db, user, { render_state: 'pending' });
    const rendered = await makeFile(database.db, user, { render_state: 'rendered' });
    await database.db
      .updateTable('quotas')
      .set({ renders_outstanding: 3 })
      .where('user_id', '=', user)
      .execute();
    for (const { id } of [waiting, rendered, waiting]) {
      await requestDeletion(database.db, { fileId: id, requestId: 'r' });
    }
    expect(await rendersOutstanding()).toBe(2);
  });

  it('of a user marks a batch of the files of that user, and none of another', async () => {
    const other = await makeUser(database.db);
    const kept = await makeFile(database.db, other);
    for (let n = 0; n < 5; n += 1) await makeFile(database.db, user, { render_state: 'pending' });
    await database.db
      .updateTable('quotas')
      .set({ renders_outstanding: 5 })
      .where('user_id', '=', user)
      .execute();

    expect(await requestDeletionOfUser(database.db, { userId: user, batchSize: 3 })).toBe(3);
    expect(await rendersOutstanding()).toBe(2);
    expect(await requestDeletionOfUser(database.db, { userId: user })).toBe(2);
    expect(await requestDeletionOfUser(database.db, { userId: user })).toBe(0);
    const states = await database.db
      .selectFrom('files')
      .select(['id', 'state'])
      .where('state', '=', 'stored')
      .execute();
    expect(states.map((row) => row.id)).toContain(kept.id);
    const left = states.filter((row) => row.id !== kept.id);
    const own = await database.db.selectFrom('files').select('id').where('user_id', '=', user).execute();
    expect(left.filter((row) => own.some((mine) => mine.id === row.id))).toEqual([]);
  });
});

describe('a refund', () => {
  it('gives the bytes back once', async () => {
    await makeFile(database.db, user, { size_bytes: 400 });
    const id = await deletedFile(100);
    const refunds = await Promise.all(Array.from({ length: 8 }, () => refund(id)));
    expect(refunds.filter(Boolean)).toHaveLength(1);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 400, adjustment: 0 });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('is not made for a file that nobody deletes', async () => {
    const { id } = await makeFile(database.db, user);
    expect(await refund(id)).toBe(false);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 1_000 });
  });

  it('writes off what a low set would leave below nothing', async () => {
    const id = await deletedFile(1_000);
    await makeFile(database.db, user, { size_bytes: 50 });
    await set(300);
    await refund(id);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 50, adjustment: -50, unposted: 0 });
    expect(await adjustments()).toEqual([
      { bytes: -750, reason: 'set' },
      { bytes: 700, reason: 'write-off' },
    ]);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('writes nothing off when the sum stays at 0 or above', async () => {
    const id = await deletedFile(1_000);
    await set(1_000);
    await refund(id);
    expect(await adjustments()).toEqual([{ bytes: 0, reason: 'set' }]);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0, adjustment: 0 });
  });

  it('keeps the books right when many race with sets and increases', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await deletedFile(100 + n));
    await Promise.all([
      ...ids.map((id) => refund(id)),
      ...ids.map((_, n) => set(n * 37)),
      ...ids.map((_, n) =>
        adjustQuota(database.db, { userId: user, kind: 'increase', bytes: n, actorId: user, requestId: 'r' }),
      ),
    ]);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0 });
  });
});

describe('forgetting a file', () => {
  it('waits until the ledger has both its charge and its refund', async () => {
    const id = await deletedFile(10);
    await refund(id);
    expect(await forgetFile(database.db, id)).toBe(false);
    await database.db.updateTable('files').set({ posted_at: new Date() }).where('id', '=', id).execute();
    expect(await forgetFile(database.db, id)).toBe(false);
    await database.db
      .updateTable('files')
      .set({ refund_posted_at: new Date() })
      .where('id', '=', id)
      .execute();
    expect(await forgetFile(database.db, id)).toBe(true);
    expect(await forgetFile(database.db, id)).toBe(false);
  });
});
