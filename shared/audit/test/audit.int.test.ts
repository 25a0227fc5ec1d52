import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { originalKey } from '../../uploads/original-keys.ts';
import { type AuditRig, NO_WINDOWS, openAuditRig, services, violations } from './audit-rig.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe.each(services())('the audit of $name', ({ store, queue }) => {
  let rig: AuditRig;
  let live: Awaited<ReturnType<AuditRig['liveSystem']>>;
  beforeEach(async () => {
    rig = await openAuditRig({ db: database.db, store, queue });
    live = await rig.liveSystem();
  });
  afterEach(() => rig.close());

  const run = (statement: ReturnType<typeof sql>) => statement.execute(database.db);

  it.each([false, true])('finds nothing wrong with a live system (deep: %s)', async (deep) => {
    const report = await rig.audit({ deep });
    expect(violations(report)).toEqual({});
    expect(report).toMatchObject({
      driftBytes: 0,
      outdatedPictures: 0,
      findings: {
        I1: { checked: 4 },
        I2: { checked: 1 },
        I4: { checked: 3 },
        // 4 stored files and 4 variants, and their objects with those of a deletion and an upload.
        I5: { checked: 8 + 10 },
      },
    });
  });

  it('finds nothing wrong with an empty system', async () => {
    await rig.close();
    rig = await openAuditRig({ db: database.db, store, queue });
    expect(violations(await rig.audit({ deep: true, windows: NO_WINDOWS }))).toEqual({});
  });

  it('changes nothing unless it is told to', async () => {
    await rig.put(originalKey(randomUUID(), 0), Buffer.from('nobody knows me'));
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes + 5`);
    const read = async () => ({
      keys: [await rig.keysUnder('originals/'), await rig.keysUnder('variants/')],
      quotas: await database.db.selectFrom('quotas').selectAll().execute(),
      outbox: await database.db.selectFrom('outbox').selectAll().orderBy('id').execute(),
      uploads: await database.db.selectFrom('uploads').selectAll().execute(),
    });
    const before = await read();
    expect(violations(await rig.audit({ deep: true, windows: NO_WINDOWS }))).toMatchObject({ I2: 1, I5: 1 });
    expect(await read()).toEqual(before);
  });

  describe('I1', () => {
    it('misses an original that is gone', async () => {
      await rig.store.delete([live.file.object_key]);
      const { findings } = await rig.audit();
      expect(findings.I1).toMatchObject({
        violations: 1,
        examples: [`file ${live.file.id}: its object ${live.file.object_key} is missing`],
      });
      expect(findings.I5.violations).toBe(1);
    });

    it('notices an original of another size', async () => {
      await rig.put(live.picture.object_key, Buffer.from('short'));
      expect(violations(await rig.audit())).toEqual({ I1: 1 });
    });

    it('notices other bytes of the same size when it is deep', async () => {
      await rig.put(live.file.object_key, Buffer.alloc(1_000));
      expect(violations(await rig.audit())).toEqual({});
      const { findings } = await rig.audit({ deep: true });
      expect(findings.I1).toMatchObject({
        violations: 1,
        examples: [expect.stringContaining(`instead of ${live.file.sha256}`)],
      });
    });

    it('has no repair for lost bytes, and says so', async () => {
      await rig.store.delete([live.file.object_key]);
      const { report, repairs } = await rig.repair({ windows: {} });
      expect(repairs).toEqual(['I1 restore-original not', 'I5 restore-original not']);
      expect(report.findings.I1).toMatchObject({ violations: 1, repaired: 0 });
    });

    it('fetches an original from the quarantine, if it is the right one', async () => {
      await rig.store.move(live.file.object_key, `quarantine/${live.file.object_key}`);
      await rig.store.delete([live.picture.object_key]);
      await rig.put(`quarantine/${live.picture.object_key}`, Buffer.alloc(1_000));
      const { report } = await rig.repair({ windows: {} });
      expect(report.findings.I1).toMatchObject({ violations: 2, repaired: 1 });
      expect(report.findings.I5).toMatchObject({ violations: 2, repaired: 1 });
      expect((await rig.audit({ deep: true })).findings.I1).toMatchObject({ violations: 1 });
    });

    it('does not care about the object of a file that is being deleted', async () => {
      await rig.store.delete([live.deleted.object_key]);
      expect(violations(await rig.audit())).toEqual({});
    });
  });

  describe('I3', () => {
    it('notices an upload that nobody sweeps, in each of its states', async () => {
      const [open, given, sweeping, swept] = [
        await rig.upload(live.user, -80_000),
        await rig.upload(live.user, -80_000),
        await rig.upload(live.user, -160_000),
        await rig.upload(live.user, -300_000),
      ];
      const set = (id: string, state: string, sweptAgo: string | null) =>
        run(sql`UPDATE uploads SET state = ${state}, reserved_bytes = 0, swept_at = now() - ${sweptAgo}::interval
          WHERE id = ${id}::uuid`);
      await set(given, 'abandoned', null);
      await set(sweeping, 'sweeping', null);
      await set(swept, 'sweeping', '170 s');
      await run(sql`UPDATE quotas SET reserved_bytes = 1000`);
      const { findings } = await rig.audit();
      expect(findings.I3.violations).toBe(4);
      for (const id of [open, given, sweeping, swept])
        expect(findings.I3.examples.some((example) => example.startsWith(`upload ${id}:`))).toBe(true);
      const { report, repairs } = await rig.repair({ windows: {} });
      expect(repairs).toEqual(Array(4).fill('I3 sweep-uploads'));
      expect(report.findings.I3.repaired).toBe(4);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('leaves uploads alone whose sweep is not late', async () => {
      await rig.upload(live.user, -60_000);
      const swept = await rig.upload(live.user, -200_000);
      await run(sql`UPDATE uploads SET state = 'sweeping', reserved_bytes = 0, swept_at = now() - interval '2 min'
        WHERE id = ${swept}::uuid`);
      await run(sql`UPDATE quotas SET reserved_bytes = 1000`);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('notices a reservation without an upload, and counts it anew', async () => {
      await run(sql`UPDATE quotas SET reserved_bytes = reserved_bytes + 77`);
      const { findings } = await rig.audit();
      expect(findings.I3.examples).toEqual([`user ${live.user}: reserved_bytes 577, uploads 500`]);
      await rig.repair({ windows: {} });
      const quota = await database.db.selectFrom('quotas').selectAll().executeTakeFirstOrThrow();
      expect(quota.reserved_bytes).toBe(500);
    });

    it('notices a job that no relay publishes', async () => {
      const [id] = await rig.insertJobs([{ name: 'post-usage', payload: { v: 1, userId: live.user } }]);
      expect(violations(await rig.audit())).toEqual({});
      await run(sql`UPDATE outbox SET publish_after = now() - interval '2 min' WHERE id = ${id!}::uuid`);
      const { findings } = await rig.audit();
      expect(findings.I3.examples).toEqual([expect.stringContaining(`job ${id}: post-usage is due since`)]);
    });

    it('misses a published job that the queue has lost, and publishes it again', async () => {
      const jobs = await rig.publish(
        Array.from({ length: 150 }, () => ({ name: 'post-usage', payload: { v: 1, userId: live.user } })),
      );
      const lost = jobs[70]!;
      await rig.queues.backend.queue('quota-accounting').remove(lost);
      const report = await rig.audit({ windows: { refillMs: 0 } });
      expect(report.findings.I3).toMatchObject({
        violations: 1,
        examples: [`job ${lost}: post-usage was published and is not in the queue`],
      });
      expect((await rig.repair({ windows: { refillMs: 0 } })).repairs).toEqual(['I3 publish-again']);
      await rig.publish([]);
      expect(await rig.queues.backend.queue('quota-accounting').getJobState(lost)).not.toBe('unknown');
      expect(violations(await rig.audit())).toEqual({});
    });

    it('does not miss jobs of a queue that is filled again meanwhile', async () => {
      for (const name of ['thumbnails', 'cleanup', 'quota-accounting'] as const)
        await rig.queues.backend.queue(name).obliterate({ force: true });
      rig.queues.relay().start();
      expect(violations(await rig.audit({ windows: { refillMs: 3_000 } }))).toEqual({});
    });

    it('does not miss jobs that end while it looks for them', async () => {
      const { backend } = rig.queues;
      const queue = (name: Parameters<typeof backend.queue>[0]) => {
        const real = backend.queue(name);
        const ending = async (id: string) => {
          await database.db.deleteFrom('outbox').where('id', '=', id).execute();
          await real.remove(id);
          return await real.getJobState(id);
        };
        return new Proxy(real, {
          get: (target, property) => (property === 'getJobState' ? ending : Reflect.get(target, property)),
        });
      };
      const { findings } = await rig.audit({ backend: { ...backend, queue }, windows: { refillMs: 0 } });
      expect(findings.I3.violations).toBe(0);
      expect(await database.db.selectFrom('outbox').selectAll().execute()).toEqual([]);
    });

    it('does not miss jobs that failed for good', async () => {
      await run(sql`UPDATE outbox SET failed_at = now() - interval '1 day', failure = 'x', publish_after = now() - interval '1 day'
        WHERE name = 'delete-file'`);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('notices a deletion without a job, and queues it', async () => {
      await run(sql`DELETE FROM outbox WHERE name = 'delete-file'`);
      expect(violations(await rig.audit())).toEqual({});
      await run(sql`UPDATE files SET deleted_at = now() - interval '2 min' WHERE state = 'deleting'`);
      const { findings } = await rig.audit();
      expect(findings.I3.examples).toEqual([expect.stringMatching(`file ${live.deleted.id}: .* has no job`)]);
      await rig.repair({ windows: {} });
      expect(violations(await rig.audit())).toEqual({});
    });

    it('notices usage that nobody posts, and queues it', async () => {
      await run(sql`UPDATE quota_adjustments SET created_at = now() - interval '2 min'`);
      await run(sql`DELETE FROM outbox WHERE name = 'post-usage'`);
      const { findings } = await rig.audit();
      expect(findings.I3.examples).toEqual([expect.stringMatching(`user ${live.user}: has usage to post`)]);
      await rig.repair({ windows: {} });
      expect(violations(await rig.audit())).toEqual({});
    });
  });

  it('gives up at once when it is told to', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(rig.audit({ signal })).rejects.toThrow();
  });

  it('gives up a statement that takes long, also in the database', async () => {
    const stop = new AbortController();
    const blocked = async () => {
      const { rows } = await sql`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.db);
      return rows.length;
    };
    await database.db.transaction().execute(async (trx) => {
      await sql`LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE`.execute(trx);
      const audit = expect(rig.audit({ signal: stop.signal })).rejects.toThrow('enough');
      await waitFor(async () => (await blocked()) === 1);
      stop.abort(new Error('enough'));
      await audit;
      await waitFor(async () => (await blocked()) === 0);
    });
  });

  it('fails when a service is away, instead of finding things missing', async () => {
    const unavailable = () => Promise.reject(new Error('away'));
    await expect(rig.audit({ store: { ...rig.store, sizes: unavailable } })).rejects.toThrow('away');
    const backend = {
      ...rig.queues.backend,
      queue: () => {
        throw new Error('no queue');
      },
    };
    await expect(rig.audit({ backend })).rejects.toThrow('no queue');
  });
});
