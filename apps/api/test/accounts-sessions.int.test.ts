import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { readCurrentUser } from '../src/accounts/current-user.ts';
import { requireSession } from '../src/http/authenticate.ts';
import { type AccountsClient, type AccountsFixture, openAccounts } from './accounts-fixture.ts';
import { type AccountsPeople, accountsPeople } from './accounts-people.ts';

let accounts: AccountsFixture;
let people: AccountsPeople;
let optional: AccountsClient;

beforeAll(async () => {
  accounts = await openAccounts();
  optional = await accounts.start();
  people = accountsPeople(accounts, optional);
});
afterAll(() => accounts?.close());

describe('ending sessions', () => {
  it('ends this session at once, and leaves the others', async () => {
    const user = await people.loggedIn('logout');
    const other = (await optional.logIn(user.email)).answer.accessToken!;
    const { answer, response } = await optional.mutate('logout', user.accessToken);
    expect(answer.statusCode).toBe(200);
    expect(response.headers['set-cookie']).toContain('Max-Age=0');
    expect([await people.lives(user.accessToken), await people.lives(other)]).toEqual([false, true]);
    expect((await optional.refresh({ 'x-refresh-token': user.refreshToken })).answer.statusCode).toBe(401);
    expect((await optional.mutate('logout', user.accessToken)).answer.statusCode).toBe(401);
  });

  it('ends all sessions of the caller', async () => {
    const user = await people.loggedIn('everywhere');
    const other = (await optional.logIn(user.email)).answer.accessToken!;
    const stranger = await people.loggedIn('stranger');
    expect((await optional.mutate('logoutEverywhere', user.accessToken)).answer.statusCode).toBe(200);
    expect([await people.lives(user.accessToken), await people.lives(other)]).toEqual([false, false]);
    expect(await people.lives(stranger.accessToken)).toBe(true);
  });

  it('needs a session', async () => {
    for (const call of ['logout', 'logoutEverywhere'])
      expect((await optional.mutate(call)).answer).toMatchObject({
        statusCode: 401,
        errors: [{ code: 'UNAUTHENTICATED' }],
      });
  });
});

describe('a session', () => {
  const change = (
    id: string,
    values: { last_activity_at?: Date; expires_at?: Date; idle_expires_at?: Date },
  ) => accounts.db.updateTable('sessions').set(values).where('user_id', '=', id).execute();

  it('notes activity at most once a minute', async () => {
    const user = await people.loggedIn('active');
    const principal = await accounts.deps.verifyAccessToken(`Bearer ${user.accessToken}`);
    const activity = async () => {
      const row = await accounts.db
        .selectFrom('sessions')
        .select('last_activity_at')
        .where('id', '=', principal.sessionId)
        .executeTakeFirstOrThrow();
      return row.last_activity_at.getTime();
    };
    const recent = new Date(Date.now() - 50_000);
    const old = new Date(Date.now() - 70_000);
    for (const touch of [
      () => requireSession(accounts.db, principal),
      () => readCurrentUser(accounts.db, principal),
    ]) {
      await change(user.id, { last_activity_at: recent });
      await touch();
      expect(await activity()).toBe(recent.getTime());
      await change(user.id, { last_activity_at: old });
      await touch();
      expect(await activity()).toBeGreaterThan(recent.getTime());
    }
    await change(user.id, { last_activity_at: old });
    const record = await readCurrentUser(accounts.db, principal);
    expect(Number(record.last_activity)).toBeGreaterThan(recent.getTime() / 1_000);
  });

  it('is written once by requests that arrive together', async () => {
    const { db } = accounts;
    const user = await people.loggedIn('burst');
    const principal = await accounts.deps.verifyAccessToken(`Bearer ${user.accessToken}`);
    await change(user.id, { last_activity_at: new Date(Date.now() - 70_000) });
    await sql`CREATE TABLE writes (session_id uuid)`.execute(db);
    await sql`CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN INSERT INTO writes VALUES (NEW.id); RETURN NULL; END'`.execute(db);
    await sql`CREATE TRIGGER note_write AFTER UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION note_write()`.execute(
      db,
    );

    let requests: Promise<unknown>[] = [];
    // Holds the row until all of them wait for it.
    await db.transaction().execute(async (trx) => {
      await trx
        .selectFrom('sessions')
        .select('id')
        .where('id', '=', principal.sessionId)
        .forUpdate()
        .execute();
      requests = [
        ...Array.from({ length: 3 }, () => requireSession(db, principal)),
        ...Array.from({ length: 3 }, () => readCurrentUser(db, principal)),
      ];
      await waitFor(async () => {
        const { rows } = await sql<{ waiting: number }>`
          SELECT count(*)::int AS waiting FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db);
        return rows[0]!.waiting === 6;
      });
    });
    await Promise.all(requests);
    const { rows } = await sql`SELECT session_id FROM writes`.execute(db);
    expect(rows).toHaveLength(1);
    await sql`DROP TRIGGER note_write ON sessions`.execute(db);
  });

  it('of a suspended user is worth nothing, even if it was opened at that moment', async () => {
    const user = await people.loggedIn('suspended');
    const principal = await accounts.deps.verifyAccessToken(`Bearer ${user.accessToken}`);
    await accounts.db.updateTable('users').set({ state: 'suspended' }).where('id', '=', user.id).execute();
    expect(await people.lives(user.accessToken)).toBe(false);
    await expect(readCurrentUser(accounts.db, principal)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await optional.refresh({ 'x-refresh-token': user.refreshToken })).answer.statusCode).toBe(401);
  });

  it('ends after its time, and when it was idle too long', async () => {
    for (const field of ['expires_at', 'idle_expires_at'] as const) {
      const user = await people.loggedIn('expired');
      await change(user.id, { [field]: new Date(Date.now() - 1_000) });
      expect(await people.lives(user.accessToken)).toBe(false);
      const principal = await accounts.deps.verifyAccessToken(`Bearer ${user.accessToken}`);
      await expect(readCurrentUser(accounts.db, principal)).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
      });
      expect((await optional.refresh({ 'x-refresh-token': user.refreshToken })).answer.statusCode).toBe(401);
    }
  });
});
