import { randomUUID } from 'node:crypto';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { adjustQuota } from '@stowage/shared/quota/adjust-quota.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { postUsage } from '../src/post-usage.ts';

let database: TestDatabase;
let user: string;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  user = await makeUser(database.db, { maxBytes: 1_000_000_000 });
});

async function job(userId = user) {
  const [id] = await insertJobs(database.db, [{ name: 'post-usage', payload: { v: 1, userId } }]);
  return { id: id!, payload: { v: 1, userId } as const };
}

function ledgerOf(userId: string) {
  return database.db
    .selectFrom('ledger_entries')
    .select(['kind', 'bytes', 'cause_id'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute();
}

async function isOpen(id: string): Promise<boolean> {
  return (
    (await database.db.selectFrom('outbox').select('id').where('id', '=', id).executeTakeFirst()) !==
    undefined
  );
}

function adjust(kind: 'increase' | 'set', bytes: number) {
  return adjustQuota(database.db, { userId: user, kind, bytes, actorId: user, requestId: 'r' });
}

describe('posting usage', () => {
  it('appends charges, refunds and adjustments, once each, and takes the job with it', async () => {
    const kept = await makeFile(database.db, user, { size_bytes: 700 });
    const deleted = await makeFile(database.db, user, {
      size_bytes: 300,
      state: 'deleting',
      refunded_at: new Date(),
    });
    await database.db.updateTable('quotas').set({ stored_bytes: 700 }).where('user_id', '=', user).execute();
    await adjust('increase', 50);

    const first = await job();
    expect(await postUsage(database, first)).toBe(4);
    expect(await ledgerOf(user)).toEqual(
      expect.arrayContaining([
        { kind: 'charge', bytes: 700, cause_id: kept.id },
        { kind: 'charge', bytes: 300, cause_id: deleted.id },
        { kind: 'refund', bytes: -300, cause_id: deleted.id },
        { kind: 'adjustment', bytes: 50, cause_id: expect.any(String) },
      ]),
    );
    expect(await isOpen(first.id)).toBe(false);
    expect(await readBooks(database.db, user)).toMatchObject({ ledger: 750, unposted: 0 });

    expect(await postUsage(database, first)).toBe(0);
    expect(await postUsage(database, await job())).toBe(0);
    expect(await ledgerOf(user)).toHaveLength(4);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('posts the refund of a file whose charge was posted before', async () => {
    const file = await makeFile(database.db, user, { size_bytes: 10 });
    await postUsage(database, await job());
    await database.db
      .updateTable('files')
      .set({ state: 'deleting', refunded_at: sql`now()` })
      .where('id', '=', file.id)
      .execute();
    await database.db.updateTable('quotas').set({ stored_bytes: 0 }).where('user_id', '=', user).execute();
    expect(await postUsage(database, await job())).toBe(1);
    expect(await readBooks(database.db, user)).toMatchObject({ ledger: 0, unposted: 0 });
  });

  it('marks a charge as posted that the ledger has already, without a second entry', async () => {
    const file = await makeFile(database.db, user, { size_bytes: 10 });
    await postUsage(database, await job());
    await database.db.updateTable('files').set({ posted_at: null }).where('id', '=', file.id).execute();
    expect(await postUsage(database, await job())).toBe(0);
    expect(await readBooks(database.db, user)).toMatchObject({ ledger: 10, unposted: 0 });
  });

  it("leaves other users' books alone", async () => {
    const other = await makeUser(database.db);
    await makeFile(database.db, other);
    await postUsage(database, await job());
    expect(await ledgerOf(other)).toEqual([]);
  });

  it('goes through more than a batch', async () => {
    for (let n = 0; n < 23; n += 1) await makeFile(database.db, user);
    const only = await job();
    expect(await postUsage({ db: database.db, batchSize: 5 }, only)).toBe(23);
    expect(await isOpen(only.id)).toBe(false);
  });

  it('posts each cause once when many run at once, and agrees with the books at every moment', async () => {
    for (let n = 0; n < 40; n += 1) await makeFile(database.db, user, { size_bytes: n + 1 });
    const jobs = await Promise.all(Array.from({ length: 6 }, () => job()));
    const same = jobs[0]!;
    let running = true;
    const watch = (async () => {
      const faults: string[] = [];
      while (running) faults.push(...(await faultsInBooks(database.db, user)));
      return faults;
    })();
    const work = [
      ...[...jobs, same].map((each) => postUsage({ db: database.db, batchSize: 7 }, each)),
      ...Array.from({ length: 10 }, (_, n) => adjust(n % 2 === 0 ? 'increase' : 'set', n * 10).then(() => 0)),
    ];
    const posted = (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
    running = false;
    expect(await watch).toEqual([]);

    const rest = await postUsage(database, await job());
    expect(posted + rest).toBe(50);
    expect(await ledgerOf(user)).toHaveLength(50);
    expect(await readBooks(database.db, user)).toMatchObject({ unposted: 0 });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('does not end while an upload that relies on the job is being finished', async () => {
    const waiting = await job();
    let posting: Promise<number> | undefined;
    await database.db.transaction().execute(async (trx) => {
      // What finishing an upload does when it finds the job in the outbox: it holds the row, and adds its charge.
      await trx.selectFrom('outbox').select('id').where('id', '=', waiting.id).forUpdate().execute();
      posting = postUsage(database, waiting);
      await untilSomeoneWaits();
      await makeFile(trx, user, { size_bytes: 99 });
    });
    expect(await posting).toBe(1);
    expect(await readBooks(database.db, user)).toMatchObject({ ledger: 99, unposted: 0 });
  });

  it('does nothing for a user who is not there', async () => {
    const gone = await job(randomUUID());
    expect(await postUsage(database, gone)).toBe(0);
    expect(await isOpen(gone.id)).toBe(false);
  });
});

/** Until a statement in this database waits for another's lock. */
async function untilSomeoneWaits(): Promise<void> {
  for (let waits = false; !waits; ) {
    const { rows } = await sql<{ waits: boolean }>`
      SELECT count(*) > 0 AS waits FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.db);
    waits = rows[0]!.waits;
  }
}
