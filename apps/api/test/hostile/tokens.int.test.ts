import { randomUUID } from 'node:crypto';
import {
  type CryptoKey,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSigningKeys } from '../../src/accounts/signing-keys.ts';
import { jsonOf, openService, type Person, SECRET_KEY, type Service } from './service.ts';

const ISSUER = 'http://127.0.0.1:3000';

let service: Service;
let person: Person;
let claims: JWTPayload;
let kid: string;
let ownKey: CryptoKey;
let publicJwk: { x: string };

beforeAll(async () => {
  service = await openService();
  person = await service.person('victim');
  const payload = person.token.split('.')[1]!;
  claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const signingKeys = createSigningKeys({ db: service.db, secretKey: SECRET_KEY, logger: console as never });
  ({ kid, key: ownKey } = await signingKeys.current());
  publicJwk = (await jsonOf(await fetch(`${service.url}/.well-known/jwks.json`))).keys[0];
});
afterAll(() => service?.close());

/** Signed by the genuine key: right in all but what is changed. */
const genuine = (changes: object = {}, header: object = {}) =>
  new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'at+jwt', ...header })
    .sign(ownKey);
const hmac = (secret: Uint8Array, header: object = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid, typ: 'at+jwt', ...header }).sign(secret);
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const soon = () => Math.floor(Date.now() / 1_000) + 60;

const forgeries: Record<string, () => Promise<string> | string> = {
  'alg none': () => new UnsecuredJWT(claims).encode(),
  'alg None, with the kid': () => `${encoded({ alg: 'None', kid, typ: 'at+jwt' })}.${encoded(claims)}.`,
  'alg none with the genuine signature': () =>
    `${encoded({ alg: 'none', kid, typ: 'at+jwt' })}.${encoded(claims)}.${person.token.split('.')[2]}`,
  'no signature': () => `${person.token.split('.').slice(0, 2).join('.')}.`,
  'HS256 with the bytes of the public key': () => hmac(Buffer.from(publicJwk.x, 'base64url')),
  'HS256 with its JWK': () => hmac(Buffer.from(JSON.stringify(publicJwk))),
  'HS256 with its PEM': async () => {
    // An OKP key is never imported as bytes.
    const key = (await importJWK(publicJwk, 'EdDSA', { extractable: true })) as CryptoKey;
    return hmac(Buffer.from(await exportSPKI(key)));
  },
  'HS256 with an empty kid': () => hmac(Buffer.from(publicJwk.x), { kid: '' }),
  "a stranger's key under our kid": async () => {
    const { privateKey } = await generateKeyPair('EdDSA');
    return new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid, typ: 'at+jwt' }).sign(privateKey);
  },
  "a stranger's key in the header": async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const jwk = await crypto.subtle.exportKey('jwk', publicKey);
    const header = { alg: 'EdDSA', typ: 'at+jwt', kid, jwk, jku: `${service.url}/jwks`, x5u: service.url };
    // The header is hostile on purpose.
    return new SignJWT(claims).setProtectedHeader(header as never).sign(privateKey);
  },
  ES256: async () => {
    const { privateKey } = await generateKeyPair('ES256');
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' }).sign(privateKey);
  },
  'another audience': () => genuine({ aud: 'elsewhere' }),
  'another issuer': () => genuine({ iss: 'https://elsewhere.example.org' }),
  'an issuer that only begins like ours': () => genuine({ iss: `${ISSUER}.example.org` }),
  'an unknown kid': () => genuine({}, { kid: randomUUID() }),
  'a kid that is a path': () => genuine({}, { kid: '../../../../dev/null' }),
  'a kid that is SQL': () => genuine({}, { kid: `${kid}' OR '1'='1` }),
  'a kid that is no text': () => genuine({}, { kid: { toString: kid } }),
  'no kid': () => genuine({}, { kid: undefined }),
  'another type': () => genuine({}, { typ: 'JWT' }),
  'a future nbf': () => genuine({ nbf: soon() }),
  'an exp of yesterday': () => genuine({ exp: soon() - 86_400 }),
  'an exp that is text': () =>
    `${encoded({ alg: 'EdDSA', kid, typ: 'at+jwt' })}.${encoded({ ...claims, exp: '9' })}.x`,
  'another user with our session': () => genuine({ sub: randomUUID() }),
  'a session that does not exist': () => genuine({ sid: randomUUID() }),
  'a session that is SQL': () => genuine({ sid: `${claims.sid}' OR '1'='1` }),
  'a refresh token': () => person.refreshToken,
  'an encrypted token': () => 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..a.b.c',
  'a token of 14 KB': () => `${person.token}${'x'.repeat(14_000)}`,
  'dots only': () => '..',
};

const requests: Record<string, RequestInit & { path: string }> = {
  'GET /': { path: '/' },
  'POST /': { path: '/', method: 'POST', body: 'x' },
  'GET /files': { path: '/files' },
  'GET /files/{name}': { path: `/files/${'0'.repeat(26)}.txt` },
  'DELETE /{name}': { path: `/${'0'.repeat(26)}.txt`, method: 'DELETE' },
  'GET /quota': { path: `/quota?user_id=${randomUUID()}` },
  'POST /quota/increase': { path: '/quota/increase', method: 'POST', body: '{}' },
  'POST /quota/set': { path: '/quota/set', method: 'POST', body: '{}' },
  'POST /quota/limit': { path: '/quota/limit', method: 'POST', body: '{}' },
};

describe('an access token that is', () => {
  it.each(Object.entries(forgeries))('%s: 401 everywhere', async (_, forge) => {
    const authorization = `Bearer ${await forge()}`;
    for (const [name, { path, ...init }] of Object.entries(requests)) {
      const answer = await fetch(service.url + path, { ...init, headers: { authorization } });
      const { code, details } = await jsonOf(answer);
      expect([answer.status, code, details], name).toEqual([401, 'UNAUTHENTICATED', undefined]);
      expect(answer.headers.get('www-authenticate'), name).toBe('Bearer');
    }
    const { data, errors } = await jsonOf(await service.graphql('{ users { id } }', {}, { authorization }));
    expect(data).toBeNull();
    expect(errors[0].extensions).toEqual({ code: 'UNAUTHENTICATED' });
  });

  it('genuine: let in, so that the others are refused for what is wrong with them', async () => {
    const answer = await fetch(service.url, { headers: { authorization: `Bearer ${await genuine()}` } });
    expect(answer.status).toBe(200);
  });

  it("another instance's, of the same name: 401", async () => {
    const other = await openService({
      settings: { secretKey: 'another secret key, as long as the first one' },
    });
    try {
      const stranger = await other.person('stranger');
      expect((await fetch(other.url, { headers: stranger.auth })).status).toBe(200);
      expect((await fetch(service.url, { headers: stranger.auth })).status).toBe(401);
      const refreshed = await service.graphql(
        '{ updateToken { statusCode } }',
        {},
        {
          'x-refresh-token': stranger.refreshToken,
        },
      );
      expect((await jsonOf(refreshed)).data.updateToken.statusCode).toBe(401);
    } finally {
      await other.close();
    }
  });
});

it.each([
  ['twice', (token: string) => [`authorization: Bearer ${token}`, 'authorization: Bearer x'], 200],
  [
    'twice, the wrong one first',
    (token: string) => ['authorization: Bearer x', `authorization: Bearer ${token}`],
    401,
  ],
  ['in a list', (token: string) => [`authorization: Bearer ${token}, Bearer ${token}`], 401],
  ['with a non-breaking space', (token: string) => [`authorization: Bearer ${token}\xa0`], 401],
  ['in the query', () => [], 200],
])('a token that comes %s', async (_, headers, status) => {
  const lines = headers(person.token).map((line) => `${line}\r\n`);
  const request = `GET /?access_token=${person.token} HTTP/1.1\r\nhost: h\r\n${lines.join('')}connection: close\r\n\r\n`;
  const client = await service.raw(Buffer.from(request, 'latin1'));
  await client.untilClosed();
  expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  // In the query it is no token: that is the health check.
  if (lines.length === 0) expect(client.received()).toMatch(/\r\n\r\nok$/);
});
