import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
