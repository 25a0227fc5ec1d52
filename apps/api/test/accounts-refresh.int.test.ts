import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccountsClient,
  type AccountsFixture,
  openAccounts,
  PASSWORD,
  PUBLIC_URL,
} from './accounts-fixture.ts';
import { type AccountsPeople, accountsPeople } from './accounts-people.ts';

let accounts: AccountsFixture;
let client: AccountsClient;
let people: AccountsPeople;

beforeAll(async () => {
  accounts = await openAccounts();
  client = await accounts.start();
  people = accountsPeople(accounts, client);
});
afterAll(() => accounts?.close());

describe('refreshing', () => {
  const byHeader = (token: string) => client.refresh({ 'x-refresh-token': token });

  it('rotates: the new token works, and the old one gets the new one again for a moment', async () => {
    const user = await people.loggedIn('rotate');
    const first = (await byHeader(user.refreshToken)).answer;
    expect(first).toMatchObject({ statusCode: 200, user: { id: user.id } });
    expect(first.refreshToken).not.toBe(user.refreshToken);
    expect(await people.lives(first.accessToken!)).toBe(true);
    expect((await byHeader(user.refreshToken)).answer.refreshToken).toBe(first.refreshToken);
    expect((await byHeader(first.refreshToken!)).answer.statusCode).toBe(200);
  });

  it('rotates once for 20 parallel refreshes', async () => {
    const user = await people.loggedIn('parallel');
    const answers = await Promise.all(Array.from({ length: 20 }, () => byHeader(user.refreshToken)));
    expect(answers.map(({ answer }) => answer.statusCode)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map(({ answer }) => answer.refreshToken)).size).toBe(1);
  });

  it('ends the session when an older token is used again, before the answer', async () => {
    const user = await people.loggedIn('reuse');
    const second = (await byHeader(user.refreshToken)).answer.refreshToken!;
    const third = (await byHeader(second)).answer;
    const { answer } = await byHeader(user.refreshToken);
    expect(answer).toMatchObject({ statusCode: 401, accessToken: null, refreshToken: null, user: null });
    expect(await people.lives(third.accessToken!)).toBe(false);
    expect((await byHeader(third.refreshToken!)).answer.statusCode).toBe(401);
  });

  it('ends the session when the token before is used after the grace', async () => {
    const user = await people.loggedIn('grace');
    const second = (await byHeader(user.refreshToken)).answer;
    await accounts.db
      .updateTable('sessions')
      .set({ rotated_at: new Date(Date.now() - 11_000) })
      .where('user_id', '=', user.id)
      .execute();
    expect((await byHeader(user.refreshToken)).answer.statusCode).toBe(401);
    expect((await byHeader(second.refreshToken!)).answer.statusCode).toBe(401);
  });

  it('keeps the session going, but not beyond its 30 days', async () => {
    const user = await people.loggedIn('idle');
    const days = (date: Date) => Math.round((date.getTime() - Date.now()) / 86_400_000);
    const soon = new Date(Date.now() + 3_600_000);
    await accounts.db
      .updateTable('sessions')
      .set({ idle_expires_at: soon })
      .where('user_id', '=', user.id)
      .execute();
    await byHeader(user.refreshToken);
    const session = await accounts.db
      .selectFrom('sessions')
      .select(['idle_expires_at', 'expires_at'])
      .where('user_id', '=', user.id)
      .executeTakeFirstOrThrow();
    expect([days(session.idle_expires_at), days(session.expires_at)]).toEqual([7, 30]);
  });

  it('refuses forged tokens without ending the session', async () => {
    const user = await people.loggedIn('forged');
    const [sid, , mac] = user.refreshToken.split('.');
    const another = accounts.deps.refreshTokens.issue({ sessionId: randomUUID(), counter: 1 });
    const future = accounts.deps.refreshTokens.issue({ sessionId: sid!, counter: 9 });
    for (const token of [
      `${sid}.2.${mac}`,
      `${sid}.1.${'A'.repeat(43)}`,
      another,
      future,
      'nonsense',
      'a.b.c',
    ])
      expect((await byHeader(token)).answer.statusCode).toBe(401);
    expect((await byHeader(user.refreshToken)).answer.statusCode).toBe(200);
  });

  it('takes the header of its own, then the bearer token, then the cookie', async () => {
    const [a, b, c] = [await people.loggedIn('a'), await people.loggedIn('b'), await people.loggedIn('c')];
    const headers = {
      'x-refresh-token': a.refreshToken,
      authorization: `Bearer ${b.refreshToken}`,
      cookie: `theme=dark; refresh_token=${c.refreshToken}`,
    };
    expect((await client.refresh(headers)).answer.user?.id).toBe(a.id);
    const { authorization, cookie } = headers;
    expect((await client.refresh({ authorization, cookie })).answer.user?.id).toBe(b.id);
    expect((await client.refresh({ cookie })).answer.user?.id).toBe(c.id);
    expect((await client.refresh({})).answer.statusCode).toBe(401);
  });

  it('skips an access token when there is a cookie, and says so when there is none', async () => {
    const user = await people.loggedIn('access');
    const authorization = `Bearer ${user.accessToken}`;
    const alone = (await client.refresh({ authorization })).answer;
    expect(alone).toMatchObject({ statusCode: 401, message: expect.stringContaining('access token') });
    const both = await client.refresh({ authorization, cookie: `refresh_token=${user.refreshToken}` });
    expect(both.answer.statusCode).toBe(200);
  });
});

describe('the refresh cookie', () => {
  it('is set by login, out of reach for scripts, and renewed by a refresh', async () => {
    const user = await people.loggedIn('cookie');
    const { response, answer } = await client.logIn(user.email);
    const header = String(response.headers['set-cookie']);
    expect(header).toContain(`refresh_token=${answer.refreshToken};`);
    for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/graphql'])
      expect(header).toContain(attribute);
    expect(header).not.toContain('Secure');

    const renewed = await client.refresh({ cookie: header.split(';')[0]! });
    expect(renewed.response.headers['set-cookie']).toContain(`refresh_token=${renewed.answer.refreshToken};`);
  });

  it('is secure when clients come by https', async () => {
    const secure = await accounts.start({ publicUrl: 'https://files.example.org' });
    const user = await people.loggedIn('secure');
    const { response } = await secure.logIn(user.email, PASSWORD);
    expect(response.headers['set-cookie']).toContain('; Secure');
  });

  it.each([
    ['our own', PUBLIC_URL, 200],
    ['an allowed', 'https://app.example.org', 200],
    ['a foreign', 'https://evil.example.org', 403],
    ['an opaque', 'null', 403],
  ])('is taken from a page of %s origin or not', async (_, origin, statusCode) => {
    const user = await people.loggedIn('origin');
    const { answer } = await client.refresh({ cookie: `refresh_token=${user.refreshToken}`, origin });
    expect(answer.statusCode).toBe(statusCode);
  });

  it('of another session is left alone by a refresh with a header', async () => {
    const [a, b] = [await people.loggedIn('a'), await people.loggedIn('b')];
    const { response } = await client.refresh({
      'x-refresh-token': a.refreshToken,
      cookie: `refresh_token=${b.refreshToken}`,
    });
    expect(response.headers['set-cookie']).toBeUndefined();
  });
});
