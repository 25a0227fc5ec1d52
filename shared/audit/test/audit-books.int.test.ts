import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, readBooks } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { requestDeletion } from '../../deletions/request-deletion.ts';
import { finishUploads } from '../../uploads/finish-upload.ts';
import { originalKey } from '../../uploads/original-keys.ts';
import { balanceBooks } from '../balance-books.ts';
import { type AuditRig, openAuditRig, services, violations } from './audit-rig.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

// What is in the database is the same whatever the other services are.
const [{ store, queue }] = services() as [ReturnType<typeof services>[number]];

describe('the audit of the books', () => {
  let rig: AuditRig;
  let live: Awaited<ReturnType<AuditRig['liveSystem']>>;
  let other: Awaited<ReturnType<AuditRig['liveSystem']>>;
  beforeEach(async () => {
    rig = await openAuditRig({ db: database.db, store, queue });
    live = await rig.liveSystem();
    other = await rig.liveSystem();
  });
  afterEach(() => rig.close());

  const run = (statement: ReturnType<typeof sql>) => statement.execute(database.db);
  const mine = () => sql`user_id = ${live.user}::uuid`;
  const ledger = async () =>
    (
      await sql<{ entry: string }>`
        SELECT kind || ' ' || bytes AS entry FROM ledger_entries WHERE ${mine()} ORDER BY id`.execute(
        database.db,
      )
    ).rows.map((row) => row.entry);
  const repairs = () =>
    database.db
      .selectFrom('quota_adjustments')
      .select('bytes')
      .where('user_id', '=', live.user)
      .where('reason', '=', 'repair')
      .orderBy('id')
      .execute()
      .then((rows) => rows.map((row) => row.bytes));

  /** Repairs, lets the posting do its part, and sees that all is well and the other user was left alone. */
  async function repair(): Promise<void> {
    const others = await readBooks(database.db, other.user);
    expect(new Set((await rig.repair({ windows: {} })).repairs)).toEqual(new Set(['I2 balance-books']));
    expect(await faultsInBooks(database.db, live.user)).toEqual([]);
    await rig.post(live.user);
    await rig.publish([]);
    expect(violations(await rig.audit())).toEqual({});
    expect(await readBooks(database.db, other.user)).toEqual(others);
  }

  it('balance on a live system', async () => {
    const report = await rig.audit();
    expect(violations(report)).toEqual({});
    expect(report.findings.I2.checked).toBe(2);
  });

  it('notice a quota that counts more than its files, and make it what the files say', async () => {
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes + 70 WHERE ${mine()}`);
    const report = await rig.audit();
    expect(report.driftBytes).toBe(70);
    expect(report.findings.I2).toMatchObject({
      violations: 1,
      examples: [`user ${live.user}: stored_bytes 5070, files 5000`],
    });
    await repair();
    expect(await readBooks(database.db, live.user)).toMatchObject({ stored: 5_000, adjustment: 300 });
    // The ledger tells what the quota said, and that it was taken back.
    expect(await repairs()).toEqual([70, -70]);
    expect((await ledger()).slice(-2)).toEqual(['adjustment 70', 'adjustment -70']);
  });

  it('notice a quota that counts less than its files', async () => {
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes - 70 WHERE ${mine()}`);
    expect((await rig.audit()).driftBytes).toBe(70);
    await repair();
    expect(await repairs()).toEqual([-70, 70]);
  });

  it('never let a sum fall below 0', async () => {
    await run(sql`UPDATE quotas SET stored_bytes = 9000, adjustment_bytes = -8000 WHERE ${mine()}`);
    await run(sql`UPDATE quota_adjustments SET bytes = -8000 WHERE ${mine()}`);
    await repair();
    expect(await readBooks(database.db, live.user)).toMatchObject({ stored: 5_000, adjustment: -5_000 });
  });

  it('notice an adjustment without a cause, and enter it', async () => {
    await run(sql`UPDATE quotas SET adjustment_bytes = 1000 WHERE ${mine()}`);
    expect((await rig.audit()).findings.I2.examples).toEqual([
      `user ${live.user}: adjustment_bytes 1000, adjustments 300`,
    ]);
    await repair();
    expect(await readBooks(database.db, live.user)).toMatchObject({ adjustment: 1_000 });
    expect(await repairs()).toEqual([700]);
  });

  it('notice a charge that is not in the ledger, and post it', async () => {
    await run(sql`DELETE FROM ledger_entries WHERE cause_id = ${live.file.id}::uuid`);
    expect((await rig.audit()).findings.I2.violations).toBe(1);
    await repair();
    expect((await ledger()).filter((entry) => entry === 'charge 1000')).toHaveLength(5);
  });

  it('notice an adjustment that is not in the ledger, and post it', async () => {
    await rig.post(live.user);
    await run(sql`DELETE FROM ledger_entries WHERE kind = 'adjustment' AND ${mine()}`);
    await repair();
    expect((await ledger()).at(-1)).toBe('adjustment 300');
    expect(await repairs()).toEqual([]);
  });

  it('notice an adjustment whose row is gone, and write it again', async () => {
    await rig.post(live.user);
    await run(sql`DELETE FROM quota_adjustments WHERE ${mine()}`);
    expect((await rig.audit()).driftBytes).toBe(600);
    await repair();
    expect(await repairs()).toEqual([300]);
    expect((await ledger()).filter((entry) => entry.startsWith('adj'))).toEqual(['adjustment 300']);
  });

  it('notice a file whose row is gone, and refund it', async () => {
    await run(sql`DELETE FROM files WHERE id = ${live.file.id}::uuid`);
    await rig.store.delete([live.file.object_key]);
    expect((await rig.audit()).findings.I2.violations).toBe(2);
    await repair();
    expect(await readBooks(database.db, live.user)).toMatchObject({ stored: 4_000, ledger: 4_300 });
    expect(await ledger()).toContain('refund -1000');
  });

  it('notice renders that are not counted', async () => {
    await run(sql`UPDATE quotas SET renders_outstanding = 9 WHERE ${mine()}`);
    await repair();
    const quota = await database.db
      .selectFrom('quotas')
      .select('renders_outstanding')
      .where('user_id', '=', live.user)
      .executeTakeFirstOrThrow();
    expect(quota.renders_outstanding).toBe(1);
  });

  it('notice a user without a quota, which nothing can repair', async () => {
    const name = randomUUID();
    await run(sql`INSERT INTO users (email, username) VALUES (${name}, 'x')`);
    const { report } = await rig.repair({ windows: {} });
    expect(report.findings.I2).toMatchObject({ violations: 1, repaired: 0 });
  });

  it('are not balanced before an upload that finishes at the same time has its bytes in them', async () => {
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes + 70 WHERE ${mine()}`);
    const waiting = () =>
      waitFor(async () => {
        const { rows } = await sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(
          database.db,
        );
        return rows.length > 0;
      });
    let balanced: Promise<boolean> | undefined;
    await database.db.transaction().execute(async (trx) => {
      await makeFile(trx, live.user, { size_bytes: 10 });
      balanced = balanceBooks(database.db, live.user);
      await waiting();
    });
    expect(await balanced).toBe(true);
    expect(await readBooks(database.db, live.user)).toMatchObject({ stored: 5_010, files: 5_010 });
    expect(await repairs()).toEqual([70, -70]);
  });

  it('are balanced once by many repairs at once, while uploads finish and files are deleted', async () => {
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes + 70, reserved_bytes = reserved_bytes + 5,
      renders_outstanding = 9 WHERE ${mine()}`);
    await run(sql`DELETE FROM ledger_entries WHERE cause_id = ${live.file.id}::uuid`);
    const uploads = await Promise.all(Array.from({ length: 6 }, () => rig.upload(live.user)));
    const finish = (id: string) =>
      finishUploads(database.db, {
        userId: live.user,
        postingDelayMs: 0,
        uploads: [
          {
            id,
            idempotencyKey: null,
            requestId: null,
            files: [
              {
                id: randomUUID(),
                stem: randomUUID(),
                extension: 'txt',
                objectKey: originalKey(id, 0),
                contentType: 'text/plain',
                sizeBytes: 10,
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
    await Promise.all([
      ...Array.from({ length: 4 }, () => balanceBooks(database.db, live.user)),
      ...uploads.map(finish),
      requestDeletion(database.db, { fileId: live.pending.id, requestId: 'r' }),
      rig.post(live.user),
      ...Array.from({ length: 4 }, () => balanceBooks(database.db, live.user)),
    ]);
    await rig.post(live.user);
    expect(await faultsInBooks(database.db, live.user)).toEqual([]);
    expect(await readBooks(database.db, live.user)).toMatchObject({
      stored: 5_060,
      reserved: 500,
      adjustment: 300,
    });
    expect(await repairs()).toEqual([70, -70]);
  });
});
