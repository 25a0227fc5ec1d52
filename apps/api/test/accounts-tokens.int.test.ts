import { createHmac, randomUUID } from 'node:crypto';
import { decodeProtectedHeader, generateKeyPair, importJWK, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountsClient, type AccountsFixture, openAccounts, PUBLIC_URL } from './accounts-fixture.ts';
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
