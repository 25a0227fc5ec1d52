import { randomUUID } from 'node:crypto';
import type { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { createLeaseKeeper } from '@stowage/shared/uploads/lease-keeper.ts';
import { createUploadBatcher, type UploadBatcher } from '@stowage/shared/uploads/upload-batcher.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type ReceiveUploadDeps, receiveUpload } from '../src/files/receive-upload.ts';

const LOST = new Error('the connection was lost');
const [store] = objectStores();
let database: TestDatabase;
let objects: ObjectStore;
let deps: ReceiveUploadDeps;
let batcher: UploadBatcher;

beforeAll(async () => {
  database = await openTestDatabase();
  objects = openObjectStore(store!.options);
  const { db } = database;
  batcher = createUploadBatcher({ db, leaseMs: 60_000, postingDelayMs: 0 });
  deps = {
    db,
    objects,
    batcher,
    leases: createLeaseKeeper({ db, leaseMs: 60_000, marginMs: 1, tickMs: 10_000, onError: () => undefined }),
    maxFileBytes: 1_000,
    allowedTypes: new Set(['text/plain']),
    relayKick: () => undefined,
    onError: () => undefined,
  };
});
afterAll(async () => {
  deps.leases.close();
  await objects.close();
  await database.close();
});

async function upload(finish: UploadBatcher['finish']) {
  const { db } = database;
  const userId = await makeUser(db);
  const sessionId = randomUUID();
  const later = new Date(Date.now() + 3_600_000);
  await db
    .insertInto('sessions')
    .values({ id: sessionId, user_id: userId, idle_expires_at: later, expires_at: later })
    .execute();
  async function* bytes() {
    yield Buffer.from('text');
  }
  async function* parts() {
    yield { name: 'file', fileName: 'a.txt', bytes: bytes() };
  }
  const answer = receiveUpload(
    { ...deps, batcher: { ...batcher, finish } },
    {
      userId,
      sessionId,
      announcedBytes: undefined,
      idempotencyKey: null,
      requestId: 'r',
      openParts: parts,
      signal: new AbortController().signal,
    },
  );
  return { userId, answer };
}

describe('when the answer to finish is lost', () => {
  it('the upload counts if it was committed', async () => {
    const { userId, answer } = await upload(async (request) => {
      await batcher.finish(request);
      throw LOST;
    });
    expect(await answer).toMatchObject([{ size: 4 }]);
    expect(await readBooks(database.db, userId)).toMatchObject({ stored: 4, reserved: 0, uploads: 0 });
  });

  it('waits for a finish that is still at work', async () => {
    let atWork: Promise<unknown> | undefined;
    let release: () => void = () => undefined;
    const { answer, userId } = await upload(async ({ userId: id, upload: finished }) => {
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await new Promise<void>((locked) => {
        atWork = database.db.transaction().execute(async (trx) => {
          await createUploadBatcher({ db: trx, leaseMs: 1, postingDelayMs: 0 }).finish({
            userId: id,
            upload: finished,
          });
          locked();
          await held;
        });
      });
      setTimeout(release, 100);
      throw LOST;
    });
    expect(await answer).toMatchObject([{ size: 4 }]);
    await atWork;
    expect(await readBooks(database.db, userId)).toMatchObject({ stored: 4, reserved: 0 });
  });

  it('nothing is taken back if it was not: that is left to the sweep', async () => {
    const { userId, answer } = await upload(async () => {
      throw LOST;
    });
    await expect(answer).rejects.toBe(LOST);
    expect(await readBooks(database.db, userId)).toMatchObject({ stored: 0, files: 0 });
    const rows = await database.db
      .selectFrom('uploads')
      .select('state')
      .where('user_id', '=', userId)
      .execute();
    expect(rows).toEqual([{ state: 'open' }]);
  });

  it('a lease that was lost is said to be lost', async () => {
    const { answer } = await upload(async () => 'lease-lost');
    await expect(answer).rejects.toMatchObject({ code: 'UPLOAD_LEASE_LOST' } satisfies Partial<AppError>);
  });
});
