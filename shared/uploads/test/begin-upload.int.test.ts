import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginUploads } from '../begin-upload.ts';
import { finished, LEASE_MS, openUploads, type Uploads } from './uploads-fixture.ts';

let uploads: Uploads;
beforeAll(async () => {
  uploads = await openUploads();
});
afterAll(() => uploads?.close());

describe('begin', () => {
  it('reserves to the byte, for all uploads of a batch or for none', async () => {
    const user = await uploads.uploader(100);
    expect((await user.begin(30, 40)).outcome.kind).toBe('begun');
    expect((await user.begin(10, 21)).outcome.kind).toBe('no-room');
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 70, uploads: 70 });
    expect((await user.begin(30)).outcome.kind).toBe('begun');
    expect((await user.begin(1)).outcome.kind).toBe('no-room');
    // Nothing asks for no room.
    expect((await user.begin(0)).outcome.kind).toBe('begun');
  });

  it('lets twenty at once take no more than there is', async () => {
    const user = await uploads.uploader(550);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => user.begin(100)));
    expect(outcomes.filter(({ outcome }) => outcome.kind === 'begun')).toHaveLength(5);
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 500, uploads: 500 });
  });

  it('gives no room for a negative adjustment, and counts a positive one', async () => {
    const user = await uploads.uploader(100);
    const adjust = (bytes: number) =>
      uploads.db
        .updateTable('quotas')
        .set({ adjustment_bytes: bytes, stored_bytes: 50 })
        .where('user_id', '=', user.userId)
        .execute();
    await adjust(-50);
    expect((await user.begin(51)).outcome.kind).toBe('no-room');
    await adjust(20);
    expect((await user.begin(31)).outcome.kind).toBe('no-room');
    expect((await user.begin(30)).outcome.kind).toBe('begun');
  });

  it.each([
    ['revoked', { revoked_at: new Date() }],
    ['expired', { expires_at: new Date(Date.now() - 1) }],
    ['idle for too long', { idle_expires_at: new Date(Date.now() - 1) }],
  ])('refuses a session that was %s', async (_what, values) => {
    const user = await uploads.uploader(100);
    await uploads.db.updateTable('sessions').set(values).where('id', '=', user.sessionId).execute();
    expect((await user.begin(1)).outcome.kind).toBe('no-session');
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 0, uploads: 0 });
  });

  it('refuses a suspended user, and a session of someone else', async () => {
    const user = await uploads.uploader(100);
    const other = await uploads.uploader(100);
    const intents = [{ id: randomUUID(), reserveBytes: 1, idempotencyKey: null }];
    const stolen = { userId: user.userId, sessionId: other.sessionId, intents, leaseMs: LEASE_MS };
    expect((await beginUploads(uploads.db, stolen)).kind).toBe('no-session');
    await uploads.db.updateTable('users').set({ state: 'suspended' }).where('id', '=', user.userId).execute();
    expect((await user.begin(1)).outcome.kind).toBe('no-session');
  });

  it('notes the activity of the session at most once a minute', async () => {
    const user = await uploads.uploader(100);
    const activity = async (at?: Date) => {
      const session = uploads.db.updateTable('sessions').where('id', '=', user.sessionId);
      const change =
        at === undefined ? session.set({ user_agent: 'x' }) : session.set({ last_activity_at: at });
      return (
        await change.returning('last_activity_at').executeTakeFirstOrThrow()
      ).last_activity_at.getTime();
    };
    const recent = await activity(new Date(Date.now() - 50_000));
    await user.begin(1);
    expect(await activity()).toBe(recent);
    const old = await activity(new Date(Date.now() - 70_000));
    await user.begin(1);
    expect(await activity()).toBeGreaterThan(old);
  });
});

describe('an idempotency key', () => {
  it('is in progress while its upload runs, then has an answer, for a day', async () => {
    const user = await uploads.uploader(100);
    const { ids } = await user.beginKeyed([[10, 'k']]);
    expect((await user.beginKeyed([[10, 'k']])).outcome.kind).toBe('in-progress');
    const upload = finished(ids[0]!, [10], { idempotencyKey: 'k' });
    await user.finish([upload]);
    const again = (await user.beginKeyed([[10, 'k']])).outcome;
    expect(again).toEqual({
      kind: 'answered',
      files: [
        {
          name: `${upload.files[0]!.stem}.jpg`,
          size: 10,
          content_type: 'image/jpeg',
          width: 3,
          height: 2,
          sha256: '0'.repeat(64),
        },
      ],
    });
    expect(await uploads.books(user.userId)).toMatchObject({ stored: 10, reserved: 0 });

    await sql`UPDATE idempotency_keys SET created_at = now() - interval '24 hours'`.execute(uploads.db);
    const { outcome, ids: next } = await user.beginKeyed([[10, 'k']]);
    expect(outcome.kind).toBe('begun');
    await user.finish([finished(next[0]!, [10], { idempotencyKey: 'k' })]);
    expect((await user.beginKeyed([[10, 'k']])).outcome.kind).toBe('answered');
  });

  it('belongs to one user', async () => {
    const [one, other] = [await uploads.uploader(100), await uploads.uploader(100)];
    expect((await one.beginKeyed([[1, 'same']])).outcome.kind).toBe('begun');
    expect((await other.beginKeyed([[1, 'same']])).outcome.kind).toBe('begun');
  });

  it('begins once, however many come at once', async () => {
    const user = await uploads.uploader(1_000);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => user.beginKeyed([[1, 'many']])));
    expect(outcomes.map(({ outcome }) => outcome.kind).sort()).toEqual([
      'begun',
      ...Array(9).fill('in-progress'),
    ]);
    expect(await uploads.books(user.userId)).toMatchObject({ reserved: 1, uploads: 1 });
  });
});
