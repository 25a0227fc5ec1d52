import { randomUUID } from 'node:crypto';
import { requestDeletion } from '@stowage/shared/deletions/request-deletion.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import {
  faultsInBooks,
  makeFile,
  makeUser,
  readBooks,
  type TestFile,
} from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { deleteFile } from '../src/delete-file.ts';

const BYTES = Buffer.from('the bytes of a file');

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

describe.each(objectStores())('deleting a file from $name', ({ options }) => {
  let store: ObjectStore;
  let user: string;
  let file: TestFile;

  beforeAll(() => {
    store = openObjectStore(options);
  });

  afterAll(() => store.close());

  beforeEach(async () => {
    user = await makeUser(database.db);
    file = await makeFile(database.db, user, { size_bytes: BYTES.length, render_state: 'rendered' });
    await put(file.object_key);
  });

  const put = (key: string) => store.put(key, BYTES, { contentType: 'text/plain' });
  const exists = async (key: string) => (await store.head(key)) !== undefined;

  async function putVariant(width: number): Promise<string> {
    const key = `variants/${file.id}/${width}-webp-abc`;
    await put(key);
    await database.db
      .insertInto('variants')
      .values({
        file_id: file.id,
        width,
        height: 1,
        format: 'webp',
        object_key: key,
        size_bytes: 1,
        sha256: 'x',
      })
      .execute();
    return key;
  }

  async function jobs() {
    return await database.db
      .selectFrom('outbox')
      .select(['id', 'request_id', sql<boolean>`not_before > now() + interval '80 seconds'`.as('later')])
      .where('name', '=', 'delete-file')
      .where(sql`payload->>'fileId'`, '=', file.id)
      .execute();
  }

  const request = () => requestDeletion(database.db, { fileId: file.id, requestId: 'req' });

  /** Runs the one job that is open for the file. */
  async function run(settings: { store?: ObjectStore; secondPassAfterMs?: number } = {}) {
    const [job, ...others] = await jobs();
    expect(others).toEqual([]);
    await deleteFile(
      { db: database.db, store, ...settings },
      { id: job!.id, payload: { v: 1, fileId: file.id }, requestId: 'req' },
    );
  }

  const row = () =>
    database.db.selectFrom('files').select(['refunded_at']).where('id', '=', file.id).executeTakeFirst();

  const post = () =>
    database.db
      .updateTable('files')
      .set({ posted_at: sql`now()`, refund_posted_at: sql`now()` })
      .where('id', '=', file.id)
      .execute();

  it('removes the original and the variants, refunds, and comes back later', async () => {
    const variant = await putVariant(64);
    await request();
    await run();
    expect([await exists(file.object_key), await exists(variant)]).toEqual([false, false]);
    expect((await row())?.refunded_at).toBeInstanceOf(Date);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0 });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
    expect(await jobs()).toEqual([{ id: expect.any(String), request_id: 'req', later: true }]);
    const variants = await database.db
      .selectFrom('variants')
      .where('file_id', '=', file.id)
      .selectAll()
      .execute();
    expect(variants).toEqual([]);
  });

  it('removes in the second pass what was written after the first, and then the row', async () => {
    await request();
    await run();
    await post();
    // A render that was under way, and died before it could take back what it wrote.
    const late = `variants/${file.id}/128-webp-abc`;
    await put(late);
    await put(file.object_key);
    await run({ secondPassAfterMs: 0 });
    expect([await exists(late), await exists(file.object_key)]).toEqual([false, false]);
    expect(await row()).toBeUndefined();
    expect(await jobs()).toEqual([]);
  });

  it('does not take a job that comes too early for the second pass', async () => {
    await request();
    await run();
    await post();
    await run();
    expect(await row()).toBeDefined();
    expect(await jobs()).toHaveLength(1);
  });

  it('keeps the row until the ledger has the charge and the refund', async () => {
    await request();
    await run();
    await run({ secondPassAfterMs: 0 });
    expect(await row()).toBeDefined();
    await post();
    await run({ secondPassAfterMs: 0 });
    expect(await row()).toBeUndefined();
  });

  it('refunds nothing until the store has confirmed that the original is gone', async () => {
    await request();
    const away: ObjectStore = {
      ...store,
      delete: () => Promise.reject(new AppError('OBJECT_STORE_WRITE_FAILED', 'away')),
    };
    await expect(run({ store: away })).rejects.toMatchObject({ code: 'OBJECT_STORE_WRITE_FAILED' });
    expect((await row())?.refunded_at).toBeNull();
    expect(await readBooks(database.db, user)).toMatchObject({ stored: BYTES.length });
    await run();
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0 });
  });

  it('refunds once when it was cut short after the refund', async () => {
    const variant = await putVariant(64);
    await request();
    const cut: ObjectStore = { ...store, delete: (keys) => store.delete(keys), list: failingList };
    await expect(run({ store: cut })).rejects.toThrow('cut short');
    await run();
    expect(await exists(variant)).toBe(false);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0 });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('leaves the objects of a file alone that nobody deletes, and ends', async () => {
    const job = { id: randomUUID(), payload: { v: 1, fileId: file.id } as const, requestId: undefined };
    await deleteFile({ db: database.db, store }, job);
    expect(await exists(file.object_key)).toBe(true);
    await deleteFile({ db: database.db, store }, { ...job, payload: { v: 1, fileId: randomUUID() } });
  });

  it("leaves other files' objects alone", async () => {
    const other = await makeFile(database.db, user, { size_bytes: BYTES.length });
    await put(other.object_key);
    const variant = `variants/${other.id}/64-webp-abc`;
    await put(variant);
    await request();
    await run();
    expect([await exists(other.object_key), await exists(variant)]).toEqual([true, true]);
  });
});

// biome-ignore lint/correctness/useYield: it fails before there is anything to list.
async function* failingList(): AsyncGenerator<never> {
  throw new Error('cut short');
}
