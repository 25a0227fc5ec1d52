import { createHmac, randomUUID } from 'node:crypto';
import { decodeProtectedHeader, generateKeyPair, importJWK, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSigningKeys } from '../src/accounts/signing-keys.ts';
import { createAccessTokens } from '../src/accounts/tokens.ts';
import {
  type AccountsClient,
  type AccountsFixture,
  openAccounts,
  PASSWORD,
  PUBLIC_URL,
  SECRET_KEY,
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

describe('access tokens', () => {
  const verify = (token: string) => accounts.deps.verifyAccessToken(`Bearer ${token}`);
  const principal = { userId: randomUUID(), sessionId: randomUUID() };

  /** A token by our own key that is right but for what is changed. */
  async function forged(
    changes: { claims?: object; header?: object; key?: Parameters<SignJWT['sign']>[0] } = {},
  ) {
    const { kid, key } = await accounts.deps.signingKeys.current();
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({
      iss: PUBLIC_URL,
      aud: 'stowage',
      sub: principal.userId,
      sid: principal.sessionId,
      iat: now,
      exp: now + 900,
      ...changes.claims,
    })
      .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'at+jwt', ...changes.header })
      .sign(changes.key ?? key);
  }

  it('carry what they should, and verify with the published keys', async () => {
    const token = await accounts.deps.accessTokens.issue(principal);
    const { body, headers } = await client.app.inject('/.well-known/jwks.json');
    expect(headers['content-type']).toContain('application/json');
    const header = decodeProtectedHeader(token);
    const published = JSON.parse(body).keys.find((key: { kid: string }) => key.kid === header.kid);
    expect(Object.keys(published).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    const { payload } = await jwtVerify(token, await importJWK(published));
    expect(header).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt' });
    expect(payload).toMatchObject({
      iss: PUBLIC_URL,
      aud: 'stowage',
      sub: principal.userId,
      sid: principal.sessionId,
    });
    expect(payload.exp! - payload.iat!).toBe(900);
  });

  it('are taken when everything is right, and 5 seconds late', async () => {
    const now = Math.floor(Date.now() / 1_000);
    expect(await verify(await forged())).toEqual(principal);
    expect(await verify(await forged({ claims: { exp: now - 1 } }))).toEqual(principal);
  });

  const now = Math.floor(Date.now() / 1_000);
  it.each([
    ['has expired', { claims: { exp: now - 60 } }],
    ['is not good yet', { claims: { nbf: now + 60 } }],
    ['is of another issuer', { claims: { iss: 'https://elsewhere.example.org' } }],
    ['is for another audience', { claims: { aud: 'elsewhere' } }],
    ['names no audience', { claims: { aud: undefined } }],
    ['never expires', { claims: { exp: undefined } }],
    ['names no session', { claims: { sid: undefined } }],
    ['names a session that is no UUID', { claims: { sid: "' OR 1=1" } }],
    ['names no user', { claims: { sub: undefined } }],
    ['is of another type', { header: { typ: 'JWT' } }],
    ['names an unknown key', { header: { kid: randomUUID() } }],
    ['names no key', { header: { kid: undefined } }],
  ])('are refused when one %s', async (_, changes) => {
    await expect(verify(await forged(changes))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('are refused when signed by another key, by none, or by an HMAC with the public key', async () => {
    const { kid } = await accounts.deps.signingKeys.current();
    const [published] = await accounts.deps.signingKeys.published();
    const claims = { sid: principal.sessionId, iss: PUBLIC_URL, aud: 'stowage', sub: principal.userId };
    const stranger = await generateKeyPair('EdDSA');
    const hmac = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid, typ: 'at+jwt' })
      .setIssuedAt()
      .setExpirationTime('15m')
      .sign(createHmac('sha256', published!.x!).digest());
    const none = new UnsecuredJWT(claims).setIssuedAt().setExpirationTime('15m').encode();
    for (const token of [await forged({ key: stranger.privateKey }), await hmac, none])
      await expect(verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('are refused after a change of any part, even right after the genuine one', async () => {
    const token = await forged();
    await verify(token);
    const [header, payload, signature] = token.split('.');
    const other = Buffer.from(JSON.stringify({ sub: randomUUID() })).toString('base64url');
    for (const changed of [
      `${header}.${other}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${token}x`,
    ])
      await expect(verify(changed)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('must come as a bearer token', async () => {
    const token = await forged();
    for (const header of [undefined, '', token, `Basic ${token}`, 'Bearer', `Bearer ${token} x`])
      await expect(accounts.deps.verifyAccessToken(header)).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
      });
    expect(await accounts.deps.verifyAccessToken(`bearer ${token}`)).toEqual(principal);
  });

  it('are not replaced by refresh tokens', async () => {
    const { refreshToken } = await people.loggedIn('kind');
    await expect(verify(refreshToken)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

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

describe('signing keys', () => {
  const deps = () => ({ db: accounts.db, secretKey: SECRET_KEY, logger: accounts.logger });
  const timings = { signsFor: 1_000_000, publishAhead: 100_000, keepAfter: 50_000, reloadInterval: 0 };
  const kids = async (keys: ReturnType<typeof createSigningKeys>) =>
    (await keys.published()).map((key) => key.kid);

  it('lie encrypted in the database, and open with SECRET_KEY only', async () => {
    const { kid } = await accounts.deps.signingKeys.current();
    const row = await accounts.db
      .selectFrom('signing_keys')
      .selectAll()
      .where('kid', '=', kid)
      .executeTakeFirstOrThrow();
    expect(row.private_key_encrypted).toMatch(/^v1\./);
    expect(JSON.stringify(row.public_jwk)).not.toContain('"d"');

    const other = createSigningKeys({ ...deps(), secretKey: 'another secret of thirty-two characters' });
    expect(await other.find(kid)).toBeUndefined();
    expect((await other.current()).kid).not.toBe(kid);
    expect((await accounts.deps.signingKeys.current()).kid).toBe(kid);
  });

  it('are made once by processes that start together', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    const processes = Array.from({ length: 4 }, () => createSigningKeys(deps()));
    const made = await Promise.all(processes.map((keys) => keys.current()));
    expect(new Set(made.map(({ kid }) => kid)).size).toBe(1);
    expect(await accounts.db.selectFrom('signing_keys').select('kid').execute()).toHaveLength(1);
  });

  it('rotate: the next is published before it signs, the last kept until its tokens are dead', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    let now = Date.now();
    const keys = createSigningKeys({ ...deps(), timings, now: () => now });
    const first = (await keys.current()).kid;
    expect(await kids(keys)).toEqual([first]);

    now += 900_001;
    expect((await keys.current()).kid).toBe(first);
    await expect.poll(() => kids(keys)).toHaveLength(2);
    const [, second] = await kids(keys);
    expect((await keys.current()).kid).toBe(first);

    now += 100_000;
    expect((await keys.current()).kid).toBe(second);
    expect(await keys.find(first)).toBeDefined();

    now += 50_000;
    expect(await keys.find(first)).toBeUndefined();
    expect(await kids(keys)).toEqual([second]);
  });

  it('of another process are found by an unknown id, and reloaded once for many', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    let statements = 0;
    const db = accounts.db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const here = createSigningKeys({ ...deps(), db, timings: { reloadInterval: 50 } });
    expect(await here.find('unknown')).toBeUndefined();
    const there = createSigningKeys(deps());
    const tokens = createAccessTokens({ signingKeys: there, issuer: PUBLIC_URL });
    const token = await tokens.issue({ userId: randomUUID(), sessionId: randomUUID() });

    statements = 0;
    const verifier = createAccessTokens({ signingKeys: here, issuer: PUBLIC_URL });
    const found = await Promise.all([
      verifier.verify(token),
      ...Array.from({ length: 50 }, (_, n) => here.find(`strange-${n}`)),
    ]);
    expect(found[0]).toHaveProperty('sessionId');
    expect(found.slice(1).every((key) => key === undefined)).toBe(true);
    expect(statements).toBe(1);
  });
});
