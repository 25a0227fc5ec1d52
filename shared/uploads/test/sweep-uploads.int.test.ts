import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import { openObjectStore } from '../../objects/open-object-store.ts';
import { abandonUpload } from '../abandon-upload.ts';
import { beginUploads } from '../begin-upload.ts';
import { finishUploads } from '../finish-upload.ts';
import { originalKey, originalsPrefix } from '../original-keys.ts';
import { renewLeases } from '../renew-lease.ts';
import { sweepUploads } from '../sweep-uploads.ts';

const RUNNING = 120_000;
const DEAD = -1;

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

describe.each(objectStores())('the sweep of dead uploads on $name', ({ options }) => {
  let store: ObjectStore;
  let user: string;
  let session: string;

  beforeAll(() => {
    store = openObjectStore(options);
  });

  afterAll(() => store.close());

  beforeEach(async () => {
    await sql`TRUNCATE uploads`.execute(database.db);
    user = await makeUser(database.db);
    session = randomUUID();
    const tomorrow = new Date(Date.now() + 86_400_000);
    await database.db
      .insertInto('sessions')
      .values({ id: session, user_id: user, idle_expires_at: tomorrow, expires_at: tomorrow })
      .execute();
  });

  const put = (key: string) => store.put(key, Buffer.from('bytes'), { contentType: 'text/plain' });
  const exists = async (key: string) => (await store.head(key)) !== undefined;
  const sweep = (secondPassAfterMs = 90_000, over: Partial<ObjectStore> = {}) =>
    sweepUploads({ db: database.db, store: { ...bound(), ...over }, secondPassAfterMs, batchSize: 3 });
  const bound = () => ({
    delete: (keys: readonly string[]) => store.delete(keys),
    dropUnfinished: (prefix: string) => store.dropUnfinished(prefix),
  });

  async function begin(leaseMs: number, reserveBytes = 100): Promise<string> {
    const id = randomUUID();
    const outcome = await beginUploads(database.db, {
      userId: user,
      sessionId: session,
      intents: [{ id, reserveBytes, idempotencyKey: null }],
      leaseMs,
    });
    expect(outcome).toEqual({ kind: 'begun' });
    return id;
  }

  function finish(id: string) {
    const fileId = randomUUID();
    return finishUploads(database.db, {
      userId: user,
      postingDelayMs: 0,
      uploads: [
        {
          id,
          idempotencyKey: null,
          requestId: null,
          files: [
            {
              id: fileId,
              stem: fileId,
              extension: 'txt',
              objectKey: originalKey(id, 0),
              contentType: 'text/plain',
              sizeBytes: 5,
              sha256: 'x',
              originalName: null,
              width: null,
              height: null,
              renderState: 'none',
            },
          ],
        },
      ],
    });
  }

  async function rows(): Promise<string[]> {
    return (await database.db.selectFrom('uploads').select('id').execute()).map((row) => row.id);
  }

  it('leaves a running upload alone', async () => {
    const id = await begin(RUNNING);
    await put(originalKey(id, 0));
    expect(await sweep(0)).toEqual({ claimed: 0, removed: 0, forgotten: 0 });
    expect(await exists(originalKey(id, 0))).toBe(true);
    expect(await finish(id)).toEqual({ kind: 'settled', ids: [id] });
  });

  it('frees the reservation and removes every object of a dead one', async () => {
    const id = await begin(DEAD, 700);
    for (const n of [0, 7, 19]) await put(originalKey(id, n));
    expect(await sweep()).toEqual({ claimed: 1, removed: 1, forgotten: 0 });
    for (const n of [0, 7, 19]) expect(await exists(originalKey(id, n))).toBe(false);
    expect(await readBooks(database.db, user)).toMatchObject({ reserved: 0, uploads: 0, stored: 0 });
  });

  it('removes a write that arrives late in its second pass, and then the row', async () => {
    const id = await begin(DEAD);
    await sweep();
    await put(originalKey(id, 3));
    expect(await sweep()).toEqual({ claimed: 0, removed: 0, forgotten: 0 });
    expect([await rows(), await exists(originalKey(id, 3))]).toEqual([[id], true]);
    expect(await sweep(0)).toEqual({ claimed: 0, removed: 0, forgotten: 1 });
    expect([await rows(), await exists(originalKey(id, 3))]).toEqual([[], false]);
  });

  it('drops in both passes what unfinished writes left behind', async () => {
    const id = await begin(DEAD);
    const dropped: string[] = [];
    const dropUnfinished = async (prefix: string) => {
      dropped.push(prefix);
      await store.dropUnfinished(prefix);
    };
    await sweep(90_000, { dropUnfinished });
    await sweep(0, { dropUnfinished });
    expect(dropped).toEqual([originalsPrefix(id), originalsPrefix(id)]);
  });

  it('takes an abandoned upload at once', async () => {
    const id = await begin(RUNNING);
    await put(originalKey(id, 0));
    await abandonUpload(database.db, { id, userId: user, wroteObjects: true });
    expect(await sweep()).toMatchObject({ claimed: 1, removed: 1 });
    expect(await exists(originalKey(id, 0))).toBe(false);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('bars a late finish, and the renewal of the lease', async () => {
    const id = await begin(DEAD);
    await put(originalKey(id, 0));
    await sweep();
    expect(await finish(id)).toEqual({ kind: 'settled', ids: [] });
    expect(await renewLeases(database.db, [id], RUNNING)).toEqual([]);
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 0, files: 0, reserved: 0 });
  });

  it('frees reservations while the store is away, and removes the objects when it is back', async () => {
    const ids = await Promise.all(Array.from({ length: 7 }, () => begin(DEAD)));
    for (const id of ids) await put(originalKey(id, 0));
    const away = () => Promise.reject(new AppError('OBJECT_STORE_WRITE_FAILED', 'away'));
    await expect(sweep(0, { delete: away })).rejects.toMatchObject({ code: 'OBJECT_STORE_WRITE_FAILED' });
    expect(await readBooks(database.db, user)).toMatchObject({ reserved: 0, uploads: 0 });
    expect(await rows()).toHaveLength(7);
    expect(await sweep(0)).toEqual({ claimed: 0, removed: 7, forgotten: 7 });
    for (const id of ids) expect(await exists(originalKey(id, 0))).toBe(false);
    expect(await rows()).toEqual([]);
  });

  it('and a finish that race have one winner, with the object there exactly when the file is', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => begin(DEAD)));
    for (const id of ids) await put(originalKey(id, 0));
    const sweeps = [sweep(), sweep()];
    await nextTurn();
    const outcomes = await Promise.all(ids.map((id) => finish(id)));
    await Promise.all(sweeps);
    await sweep(0);
    const finished = ids.filter((_, n) => {
      const outcome = outcomes[n]!;
      return outcome.kind === 'settled' && outcome.ids.length === 1;
    });
    for (const id of ids) expect(await exists(originalKey(id, 0))).toBe(finished.includes(id));
    expect(await readBooks(database.db, user)).toMatchObject({ stored: 5 * finished.length, reserved: 0 });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('removes what a process wrote that was paused until its upload was swept and forgotten', async () => {
    const id = await begin(DEAD);
    await sweep(0);
    expect(await rows()).toEqual([]);
    await put(originalKey(id, 0));
    await abandonUpload(database.db, { id, userId: user, wroteObjects: true });
    expect(await sweep(0)).toEqual({ claimed: 1, removed: 1, forgotten: 1 });
    expect([await rows(), await exists(originalKey(id, 0))]).toEqual([[], false]);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('starts over when such a process wakes between or during its passes', async () => {
    const id = await begin(DEAD);
    await sweep();
    const wakes = async (keys: readonly string[]) => {
      await store.delete(keys);
      await put(originalKey(id, 0));
      await abandonUpload(database.db, { id, userId: user, wroteObjects: true });
    };
    await sweep(0, { delete: wakes });
    expect([await rows(), await exists(originalKey(id, 0))]).toEqual([[id], true]);
    expect(await sweep(0)).toEqual({ claimed: 0, removed: 1, forgotten: 1 });
    expect([await rows(), await exists(originalKey(id, 0))]).toEqual([[], false]);
  });

  it('never removes the objects of a file, whoever gives its upload up', async () => {
    const id = await begin(RUNNING);
    await put(originalKey(id, 0));
    await finish(id);
    await abandonUpload(database.db, { id, userId: user, wroteObjects: true });
    expect(await sweep(0)).toEqual({ claimed: 0, removed: 0, forgotten: 0 });
    expect(await exists(originalKey(id, 0))).toBe(true);
  });

  it('stops between batches when it is told to', async () => {
    for (let n = 0; n < 5; n += 1) await begin(DEAD);
    const stopped = AbortSignal.abort();
    expect(await sweepUploads({ db: database.db, store }, stopped)).toEqual({
      claimed: 0,
      removed: 0,
      forgotten: 0,
    });
  });
});
