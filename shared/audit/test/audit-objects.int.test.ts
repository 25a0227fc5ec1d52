import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { renderedSet, variantKey } from '../../images/variant-settings.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import { originalKey } from '../../uploads/original-keys.ts';
import { emptyQuarantine, quarantineKey, quarantineObject } from '../quarantine.ts';
import { type AuditRig, NO_WINDOWS, openAuditRig, services, violations, WIDTHS } from './audit-rig.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe.each(services())('the audit of objects and pictures on $name', ({ store: options, queue }) => {
  let rig: AuditRig;
  let live: Awaited<ReturnType<AuditRig['liveSystem']>>;
  beforeEach(async () => {
    rig = await openAuditRig({ db: database.db, store: options, queue });
    live = await rig.liveSystem();
  });
  afterEach(() => rig.close());

  const run = (statement: ReturnType<typeof sql>) => statement.execute(database.db);
  const variant = (width = 64, format: 'png' | 'webp' = 'webp') => variantKey(live.picture.id, width, format);
  const fileState = async (id: string) =>
    (
      await database.db
        .selectFrom('files')
        .select('render_state')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).render_state;
  const renderJobs = async () =>
    (
      await sql<{ id: string }>`
        SELECT payload->>'fileId' AS id FROM outbox WHERE name = 'render-thumbnails' AND failed_at IS NULL`.execute(
        database.db,
      )
    ).rows.map((row) => row.id);

  describe('I4', () => {
    it.each([
      [
        'a variant without a row',
        () => sql`DELETE FROM variants WHERE width = 128 AND format = 'png'`,
        'variant 128 png',
      ],
      [
        'a picture that was never queued',
        () => sql`UPDATE files SET render_state = 'none' WHERE render_state = 'rendered'`,
        'was never queued',
      ],
      [
        'a picture that was given up without a reason',
        () => sql`UPDATE files SET render_state = 'failed' WHERE render_state = 'rendered'`,
        'without a reason',
      ],
    ])('notices %s, and renders it', async (_what, damage, fault) => {
      await run(damage());
      const { findings } = await rig.audit();
      expect(findings.I4).toMatchObject({ violations: 1, examples: [expect.stringContaining(fault)] });
      expect((await rig.repair({ windows: {} })).repairs).toEqual(['I4 render']);
      expect(await fileState(live.picture.id)).toBe('pending');
      expect(await renderJobs()).toContain(live.picture.id);
      await rig.publish([]);
      expect(violations(await rig.audit())).toEqual({});
    });

    it.each([
      ['is gone', sql`DELETE FROM outbox WHERE name = 'render-thumbnails'`],
      ['failed for good', sql`UPDATE outbox SET failed_at = now() WHERE name = 'render-thumbnails'`],
    ])('notices a pending picture whose job %s, and queues it', async (_what, damage) => {
      await run(damage);
      expect(violations(await rig.audit())).toEqual({});
      await run(sql`UPDATE files SET created_at = now() - interval '7 min'`);
      expect((await rig.audit()).findings.I4.examples).toEqual([
        `file ${live.pending.id}: waits for a render that has no job`,
      ]);
      await rig.repair({ windows: {} });
      await rig.repair({ windows: {} });
      expect(await renderJobs()).toEqual([live.pending.id]);
      await rig.publish([]);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('lets pictures wait that were rendered for another configuration', async () => {
      await run(sql`UPDATE files SET rendered_set = 'another' WHERE render_state = 'rendered'`);
      await run(sql`DELETE FROM variants WHERE width = 128`);
      const report = await rig.audit();
      expect(violations(report)).toEqual({});
      expect(report.outdatedPictures).toBe(1);
    });

    it('asks for no variant wider than the picture', async () => {
      const narrow = await rig.picture(live.user, { width: 100, height: 50 });
      await run(sql`DELETE FROM variants WHERE file_id = ${narrow.id}::uuid AND width > 100`);
      for (const format of ['png', 'webp'] as const)
        await rig.store.delete([variantKey(narrow.id, 128, format)]);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('notices a variant with other bytes, and renders it', async () => {
      await rig.put(variant(), Buffer.from('short'));
      await rig.put(variant(128), Buffer.alloc(228));
      expect(violations(await rig.audit())).toEqual({ I4: 1 });
      expect(violations(await rig.audit({ deep: true }))).toEqual({ I4: 2 });
      await rig.repair({ deep: true, windows: {} });
      expect(await fileState(live.picture.id)).toBe('pending');
      expect((await renderJobs()).filter((id) => id === live.picture.id)).toHaveLength(1);
    });
  });

  describe('I5', () => {
    it('misses the object of a variant, and renders it', async () => {
      await rig.store.delete([variant()]);
      const { findings } = await rig.audit();
      expect(findings.I5).toMatchObject({
        violations: 1,
        examples: [`variant 64 webp of file ${live.picture.id}: its object ${variant()} is missing`],
      });
      const both = await Promise.all([rig.repair({ windows: {} }), rig.repair({ windows: {} })]);
      // Either may be the one that comes first.
      expect([...new Set(both.flatMap(({ repairs }) => repairs))]).toEqual(['I5 render']);
      expect((await renderJobs()).filter((id) => id === live.picture.id)).toHaveLength(1);
    });

    it('forgets a variant without an object of a picture that was given up', async () => {
      await rig.store.delete([variant()]);
      await run(
        sql`UPDATE files SET render_state = 'failed', render_error = 'x' WHERE id = ${live.picture.id}::uuid`,
      );
      expect((await rig.repair({ windows: {} })).repairs).toEqual(['I5 forget-variant']);
      expect(violations(await rig.audit())).toEqual({});
    });

    it('finds objects that no row knows of, once they are older than two sweeps', async () => {
      const original = originalKey(randomUUID(), 3);
      const ofNobody = `variants/${randomUUID()}/64-webp-abc`;
      const replaced = `variants/${live.picture.id}/64-webp-old`;
      const strange = 'originals/not-an-upload/0';
      for (const key of [original, ofNobody, replaced, strange]) await rig.put(key, Buffer.from('x'));
      expect(violations(await rig.audit())).toEqual({});
      const { findings } = await rig.audit({ windows: NO_WINDOWS });
      expect(findings.I5.violations).toBe(4);
      for (const key of [original, ofNobody, replaced, strange])
        expect(findings.I5.examples.some((example) => example.startsWith(`object ${key}:`))).toBe(true);
    });

    it('puts them in quarantine when they are old enough, and deletes them 30 days later', async () => {
      const key = originalKey(randomUUID(), 0);
      await rig.put(key, Buffer.from('wanted after all'));
      const young = await rig.repair({}, 3_600_000);
      expect(young.repairs).toEqual(['I5 quarantine not']);
      expect(young.report.findings.I5).toMatchObject({ violations: 1, repaired: 0 });
      expect((await rig.repair()).repairs).toEqual(['I5 quarantine']);
      expect(await rig.keysUnder('quarantine/')).toEqual([quarantineKey(key)]);
      expect(await rig.store.head(key)).toBeUndefined();
      expect(violations(await rig.audit({ windows: NO_WINDOWS }))).toEqual({});

      expect(await emptyQuarantine({ store: rig.store })).toBe(0);
      expect(await emptyQuarantine({ store: rig.store, keptMs: 0 })).toBe(1);
      expect(await rig.keysUnder('quarantine/')).toEqual([]);
    });

    it('takes an object for known that a running render, a deletion or an upload has in hand', async () => {
      await rig.put(variantKey(live.pending.id, 64, 'webp'), Buffer.from('made, not yet written down'));
      await rig.put(`variants/${live.deleted.id}/64-webp-abc`, Buffer.from('to be removed'));
      await rig.put(originalKey(live.upload, 7), Buffer.from('arriving'));
      const { findings } = await rig.audit({ windows: { ...NO_WINDOWS, sweepMs: 1 } });
      expect(findings.I5.violations).toBe(0);
    });

    it('does not move an object that got its row in the meantime', async () => {
      const key = originalKey(randomUUID(), 0);
      await rig.put(key, Buffer.from('late'));
      await rig.file(live.user, { object_key: key });
      expect(await quarantineObject(database.db, rig.store, key)).toBe(false);
      expect(await quarantineObject(database.db, rig.store, quarantineKey(key))).toBe(false);
      expect(await rig.store.head(key)).toBe(1_000);
    });

    it('moves each object once when two audits repair at once', async () => {
      const keys = Array.from({ length: 20 }, () => originalKey(randomUUID(), 0));
      for (const key of keys) await rig.put(key, Buffer.from('x'));
      const both = await Promise.all([rig.repair(), rig.repair()]);
      for (const { repairs } of both) expect(repairs.every((repair) => !repair.endsWith('not'))).toBe(true);
      expect(await rig.keysUnder('quarantine/')).toEqual(keys.map(quarantineKey).sort());
    });

    it('does not count what is uploaded, deleted or rendered while it looks', async () => {
      // Rows were read, or objects listed: now they change.
      const changeOriginals = async () => {
        await run(sql`UPDATE files SET state = 'deleting' WHERE id = ${live.file.id}::uuid`);
        await rig.store.delete([live.file.object_key]);
        const before = await rig.file(live.user);
        await run(sql`DELETE FROM files WHERE id = ${before.id}::uuid`);
        await rig.store.delete([before.object_key]);
      };
      const changeVariants = async () => {
        await run(sql`DELETE FROM variants WHERE file_id = ${live.picture.id}::uuid AND width = 64`);
        for (const format of ['png', 'webp'] as const) await rig.store.delete([variant(64, format)]);
      };
      const busy = whileLookedFor(rig.store, { originals: changeOriginals, variants: changeVariants });
      const { findings } = await rig.audit({ store: busy, windows: NO_WINDOWS });
      expect([findings.I1.violations, findings.I5.violations]).toEqual([0, 0]);
    });

    it('does not count an object that was removed, with its row, after it was listed', async () => {
      const gone = { key: originalKey(randomUUID(), 0), sizeBytes: 1, modifiedAt: new Date(0) };
      const list = async function* (prefix: string) {
        if (prefix === 'originals/') yield gone;
        yield* rig.store.list(prefix);
      };
      const { findings } = await rig.audit({ store: { ...rig.store, list } });
      expect(findings.I5).toMatchObject({ violations: 0, checked: 19 });
    });

    it('reports objects that others have put there, and leaves them alone', async () => {
      if (options.kind === 'filesystem') return;
      const strange = ['originals/a b', 'variants/é'];
      const found = { sizeBytes: 1, modifiedAt: new Date(0) };
      const list = async function* (prefix: string) {
        for (const key of strange) if (key.startsWith(prefix)) yield { key, ...found };
      };
      const { report, repairs } = await rig.repair({ store: { ...rig.store, list }, windows: {} });
      expect(report.findings.I5.violations).toBe(2);
      expect(repairs).toEqual([]);
    });
  });

  it('goes through more rows and objects than a page holds', async () => {
    const set = renderedSet(WIDTHS);
    const { rows } = await sql<{ id: string; key: string }>`
      INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, render_state, posted_at,
        width, height, rendered_set)
      SELECT gen_random_uuid(), 's' || n, 'png', ${live.user}::uuid, 'originals/' || gen_random_uuid() || '/0', 'image/png', 1,
        ${'2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'}, 'rendered', now(), 10, 10, ${set}
      FROM generate_series(1, 2300) AS n RETURNING id, object_key AS key`.execute(database.db);
    await run(sql`INSERT INTO ledger_entries (user_id, kind, bytes, cause_id, occurred_at)
      SELECT user_id, 'charge', 1, id, now() FROM files WHERE stem LIKE 's%' AND size_bytes = 1`);
    await run(sql`UPDATE quotas SET stored_bytes = stored_bytes + 2300`);
    for (let from = 0; from < rows.length; from += 50)
      await Promise.all(rows.slice(from, from + 50).map(({ key }) => rig.put(key, Buffer.from('x'))));
    const clean = await rig.audit({ deep: true, windows: { refillMs: 0 } });
    expect(violations(clean)).toEqual({});
    expect(clean.findings.I1.checked).toBe(2_304);
    expect(clean.findings.I4.checked).toBe(2_303);
    const lost = rows.filter((_, n) => n % 400 === 399);
    await rig.store.delete(lost.map(({ key }) => key));
    await run(sql`UPDATE files SET width = 64 WHERE id = ANY(${lost.map(({ id }) => id)}::uuid[])`);
    expect(violations(await rig.audit())).toEqual({ I1: 5, I4: 5, I5: 5 });
  }, 120_000);

  it('knows an object by the time it was put or moved, on a store that keeps times', async () => {
    if (options.kind !== 'filesystem') return;
    const key = originalKey(randomUUID(), 0);
    await rig.put(key, Buffer.from('x'));
    const old = new Date(Date.now() - 25 * 3_600_000);
    await utimes(join(options.folder, key), old, old);
    // By default: older than 24 hours is moved, and its 30 days begin then.
    const { repairs } = await rig.repair({ windows: {} }, 24 * 3_600_000);
    expect(repairs).toEqual(['I5 quarantine']);
    expect(await emptyQuarantine({ store: rig.store, keptMs: 3_600_000 })).toBe(0);
  });
});

/** The store, which lets something happen before it is first asked for objects under a prefix. */
function whileLookedFor(store: ObjectStore, happens: Record<string, () => Promise<void>>): ObjectStore {
  const waiting = new Map(Object.entries(happens));
  return {
    ...store,
    async sizes(keys) {
      const [prefix = ''] = (keys[0] ?? '').split('/');
      const happen = waiting.get(prefix);
      waiting.delete(prefix);
      await happen?.();
      return await store.sizes(keys);
    },
  };
}
