import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { abandonUpload } from '../abandon-upload.ts';
import { createLeaseKeeper } from '../lease-keeper.ts';
import { renewLeases } from '../renew-lease.ts';
import { topUpReservation } from '../top-up-reservation.ts';
import { createUploadBatcher } from '../upload-batcher.ts';
import { finished, LEASE_MS, openUploads, type Uploads } from './uploads-fixture.ts';

let uploads: Uploads;
beforeAll(async () => {
  uploads = await openUploads();
});
afterAll(() => uploads?.close());

describe('a reservation of unknown length', () => {
  it('grows by the step, then by what is left, then not at all', async () => {
    const user = await uploads.uploader(25);
    const { ids } = await user.begin(0);
    const topUp = () =>
      topUpReservation(uploads.db, { uploadId: ids[0]!, userId: user.userId, stepBytes: 10 });
    expect(await topUp()).toEqual({ kind: 'granted', bytes: 10 });
    expect(await topUp()).toEqual({ kind: 'granted', bytes: 10 });
    expect(await topUp()).toEqual({ kind: 'granted', bytes: 5 });
    expect(await topUp()).toEqual({ kind: 'no-room' });
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 25, uploads: 25 });
    await abandonUpload(uploads.db, { id: ids[0]!, userId: user.userId, wroteObjects: true });
    expect(await topUp()).toEqual({ kind: 'lease-lost' });
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 0, uploads: 0 });
  });
});

describe('renewing leases', () => {
  it('locks uploads in the order in which finish does, so that the two never wait in a circle', async () => {
    const user = await uploads.uploader(100);
    const [first = '', second = ''] = [randomUUID(), randomUUID()].sort();
    // The rows lie in the other order.
    for (const id of [second, first])
      await uploads.db
        .insertInto('uploads')
        .values({ id, user_id: user.userId, reserved_bytes: 0, lease_until: new Date() })
        .execute();
    let renewing: Promise<string[]> | undefined;
    await uploads.db.transaction().execute(async (trx) => {
      await sql`SELECT FROM uploads WHERE id = ${first}::uuid FOR UPDATE`.execute(trx);
      renewing = renewLeases(uploads.db, [second, first], LEASE_MS);
      await waitFor(async () => {
        const { rows } = await sql`
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(uploads.db);
        return rows.length > 0;
      });
      await sql`SELECT FROM uploads WHERE id = ${second}::uuid FOR UPDATE NOWAIT`.execute(trx);
    });
    expect((await renewing)?.toSorted()).toEqual([first, second]);
  });
});

describe('giving up an upload', () => {
  it('frees its bytes once; its row stays only when objects may exist', async () => {
    const user = await uploads.uploader(100);
    const { ids } = await user.begin(10, 20);
    for (const [n, wroteObjects] of [true, false].entries())
      for (let again = 0; again < 2; again += 1)
        await abandonUpload(uploads.db, { id: ids[n]!, userId: user.userId, wroteObjects });
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 0, uploads: 0 });
    const rows = await uploads.db
      .selectFrom('uploads')
      .select(['id', 'state'])
      .where('id', 'in', ids)
      .execute();
    expect(rows).toEqual([{ id: ids[0], state: 'abandoned' }]);
  });
});

describe('uploads of one user at once', () => {
  it('join, and each gets its own outcome', async () => {
    const user = await uploads.uploader(550);
    const batcher = createUploadBatcher({ db: uploads.db, leaseMs: LEASE_MS, postingDelayMs: 0 });
    const { userId, sessionId } = user;
    const results = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const id = randomUUID();
        const intent = { id, reserveBytes: 100, idempotencyKey: null };
        const outcome = await batcher.begin({ userId, sessionId, intent });
        if (outcome.kind !== 'begun') return outcome.kind;
        return await batcher.finish({ userId, upload: finished(id, [100]) });
      }),
    );
    expect(results.filter((result) => result === 'finished')).toHaveLength(5);
    expect(results.filter((result) => result === 'no-room')).toHaveLength(15);
    expect(await faultsInBooks(uploads.db, userId)).toEqual([]);
    expect(await uploads.books(userId)).toMatchObject({ stored: 500, reserved: 0 });
  });

  it('are refused one by one when one of them does not fit at the end', async () => {
    const user = await uploads.uploader(300);
    const batcher = createUploadBatcher({ db: uploads.db, leaseMs: LEASE_MS, postingDelayMs: 0 });
    const { ids } = await user.begin(90, 90, 90);
    const outcomes = await Promise.all(
      [100, 200, 100].map((size, n) =>
        batcher.finish({ userId: user.userId, upload: finished(ids[n]!, [size]) }),
      ),
    );
    expect(outcomes).toEqual(['finished', 'no-room', 'finished']);
    expect(await uploads.books(user.userId)).toMatchObject({ stored: 200, reserved: 90 });
  });
});

describe('a lease', () => {
  it('is renewed while its upload runs, and lost when a sweep took the upload', async () => {
    const user = await uploads.uploader(100);
    const { ids } = await user.begin(1, 1);
    const errors: unknown[] = [];
    // Leases that are due at every tick.
    const keeper = createLeaseKeeper({
      db: uploads.db,
      leaseMs: 400,
      marginMs: 50,
      tickMs: 10,
      onError: (error) => errors.push(error),
    });
    const lost: string[] = [];
    for (const id of ids) keeper.keep(id, performance.now(), () => lost.push(id));
    const leases = () =>
      uploads.db
        .selectFrom('uploads')
        .select(['id', 'lease_until'])
        .where('id', 'in', ids)
        .orderBy('id')
        .execute();
    const before = await leases();
    await uploads.db
      .updateTable('uploads')
      .set({ state: 'sweeping', reserved_bytes: 0 })
      .where('id', '=', ids[1]!)
      .execute();
    await waitFor(async () => {
      const now = await leases();
      const moved = now.find((row) => row.id === ids[0])?.lease_until.getTime();
      const first = before.find((row) => row.id === ids[0])?.lease_until.getTime();
      return (moved !== first && lost.length > 0) || undefined;
    });
    keeper.close();
    expect(lost).toEqual([ids[1]]);
    expect(errors).toEqual([]);
  });

  it('is given up when it cannot be renewed', async () => {
    const away = await openTestDatabase();
    await away.close();
    const keeper = createLeaseKeeper({
      db: away.db,
      leaseMs: 300,
      marginMs: 100,
      tickMs: 10,
      onError: () => undefined,
    });
    await new Promise<void>((resolve) => keeper.keep(randomUUID(), performance.now(), resolve));
    keeper.close();
  });
});
