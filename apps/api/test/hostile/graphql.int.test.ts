import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, openService, PASSWORD, type Person, type Service } from './service.ts';

let service: Service;
let person: Person;

beforeAll(async () => {
  service = await openService();
  person = await service.person('somebody');
});
afterAll(() => service?.close());

const many = (count: number, item: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => item(n)).join(' ');
const login = (n: number) =>
  `a${n}: login(params: { email: "${person.email}", password: "${PASSWORD}" }) { accessToken }`;

describe('a query that asks for too much is refused before anything runs:', () => {
  it.each([
    ['100 logins under aliases', () => `mutation { ${many(100, login)} }`, 200, 'more than 1000 tokens'],
    [
      '11 logins under aliases',
      () => `mutation { ${many(11, login)} }`,
      200,
      'A request may hold one of login',
    ],
    ['40,000 aliases', () => `{ ${many(40_000, (n) => `a${n}: __typename`)} }`, 413, undefined],
    ['5,000 aliases', () => `{ ${many(5_000, (n) => `a${n}:__typename`)} }`.slice(0, 60_000), 200, 'tokens'],
    [
      'a depth of 50',
      () => `{ ${'users { '.repeat(50)}id${' }'.repeat(50)} }`,
      200,
      'nests deeper than 6 levels',
    ],
    [
      'fragments in a circle',
      () => '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A users { id } }',
      200,
      'within itself',
    ],
    [
      'a fragment in itself',
      () => '{ ...A } fragment A on Query { ...A users { id } }',
      200,
      'within itself',
    ],
    ['1 MB of comment', () => `#${'x'.repeat(1_000_000)}\n{ users { id } }`, 413, undefined],
    ['60 KB of brackets', () => `${'['.repeat(60_000)}`, 200, 'Syntax Error'],
    ['200 directives', () => `{ __typename ${'@skip(if: false) '.repeat(200)} }`, 200, 'tokens'],
    ['a subscription', () => 'subscription { users { id } }', 200, 'not supported'],
  ])('%s', async (_, query, status, message) => {
    const hashes = service.hashes();
    const answer = await service.graphql(query(), {}, person.auth);
    expect(answer.status).toBe(status);
    const body = await jsonOf(answer);
    if (message === undefined) expect(body.code).toBe('BODY_TOO_LARGE');
    else expect(body).toEqual({ errors: expect.any(Array) });
    if (message !== undefined)
      expect(body.errors.map((error: Error) => error.message).join()).toContain(message);
    expect(service.hashes()).toBe(hashes);
  });

  it('40,000 aliases in a body without an announced length, which is not read to its end', async () => {
    const head =
      'POST /graphql HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const client = await service.raw(head);
    const chunk = `4000\r\n${'{"query":"'.padEnd(0x4000, 'a: b ')}\r\n`;
    for (let sent = 0; sent < 5; sent += 1) client.send(chunk);
    expect(await client.until('BODY_TOO_LARGE')).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('names and values that mean something to JavaScript or SQL', () => {
  it.each([
    ['an operation', { query: 'query __proto__ { __typename }', operationName: '__proto__' }],
    ['variables', { query: '{ __typename }', variables: JSON.parse('{"__proto__":{"admin":true}}') }],
    ['extensions', { query: '{ __typename }', extensions: JSON.parse('{"__proto__":{"admin":true}}') }],
    ['an alias', { query: '{ __proto__: __typename constructor: __typename }' }],
  ])('are plain data in %s', async (_, body) => {
    const answer = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text).toMatch(/^\{"data":\{.*"Query"\}\}$/);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it('in a field that no input has are refused', async () => {
    const params = JSON.parse(
      `{"email":"p@example.org","password":"${PASSWORD}","__proto__":{"role":"ADMIN"}}`,
    );
    for (const more of [params, { email: 'p@example.org', password: PASSWORD, role: 'ADMIN' }]) {
      const answer = await service.graphql(
        'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }',
        { params: more },
      );
      expect((await jsonOf(answer)).errors[0].message).toContain('unknown field');
    }
    const found = await service.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', 'p@example.org')
      .execute();
    expect(found).toEqual([]);
  });

  const SQL = ["' OR '1'='1", "'; DROP TABLE users; --", '$1', '\\', "admin'--", '%', '_', '{}', '$(id)'];
  it.each(SQL)('%s is a text like any other', async (text) => {
    const signedUp = await service.graphql(
      `mutation ($params: BasicAuthSignupInput!) {
        basicAuthSignUp(params: $params) { statusCode user { username firstName image } } }`,
      {
        params: {
          email: `sql-${Buffer.from(text).toString('hex')}@example.org`,
          password: `${PASSWORD}${text}`,
          username: text,
          firstName: text,
          image: text,
        },
      },
    );
    const { statusCode, user } = (await jsonOf(signedUp)).data.basicAuthSignUp;
    expect({ statusCode, user }).toEqual({
      statusCode: 201,
      user: { username: text, firstName: text, image: text },
    });
    for (const params of [
      { email: text, password: PASSWORD },
      { email: `${person.email}${text}`, password: PASSWORD },
      { email: person.email, password: text },
    ]) {
      const answer = await service.graphql(
        'mutation ($params: LoginInput!) { login(params: $params) { statusCode } }',
        {
          params,
        },
      );
      expect((await jsonOf(answer)).data.login.statusCode).toBe(401);
    }
    const token = await service.graphql(
      'mutation ($params: VerifySignupTokenInput!) { verifySignupToken(params: $params) { statusCode } }',
      { params: { token: text } },
    );
    expect((await jsonOf(token)).data.verifySignupToken.statusCode).toBe(400);
    expect(
      await service.db.selectFrom('users').select('id').where('email', '=', person.email).execute(),
    ).toHaveLength(1);
  });

  it('NUL in a password counts: what comes after it is compared too', async () => {
    const email = 'nul@example.org';
    const tell = async (field: string, input: string, password: string) => {
      const answer = await service.graphql(
        `mutation ($params: ${input}!) { ${field}(params: $params) { statusCode } }`,
        {
          params: { email, password },
        },
      );
      return (await jsonOf(answer)).data[field].statusCode;
    };
    expect(await tell('basicAuthSignUp', 'BasicAuthSignupInput', 'abcdefgh\0the rest')).toBe(201);
    expect(await tell('login', 'LoginInput', 'abcdefgh\0another')).toBe(401);
    expect(await tell('login', 'LoginInput', 'abcdefgh')).toBe(401);
    expect(await tell('login', 'LoginInput', 'abcdefgh\0the rest')).toBe(200);
  });

  it.each([
    'a@example.org\r\nBcc: b@example.org',
    'a@example.org, b@example.org',
    '<a@example.org>',
    'a@b@c.org',
  ])('%j is no address, and no mail goes there', async (email) => {
    const jobs = async () => (await service.db.selectFrom('outbox').select('id').execute()).length;
    const before = await jobs();
    const answer = await service.graphql(
      'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode errors { field } } }',
      { params: { email, password: PASSWORD } },
    );
    expect((await jsonOf(answer)).data.basicAuthSignUp).toEqual({
      statusCode: 400,
      errors: [{ field: 'email' }],
    });
    expect(await jobs()).toBe(before);
  });
});

describe('pages of other origins', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b', ''])(
    'cannot send a query without asking first: %s is 415',
    async (type) => {
      const answer = await fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': type, cookie: `refresh_token=${person.refreshToken}` },
        body: '{"query":"{ updateToken { accessToken } }"}',
      });
      expect(answer.status).toBe(415);
    },
  );

  it('are not answered when they ask, nor may they read an answer', async () => {
    const asked = await fetch(`${service.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example.org',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
    expect(asked.headers.get('access-control-allow-headers')).toBeNull();
    const read = await fetch(service.url, {
      headers: { ...person.auth, origin: 'https://evil.example.org' },
    });
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('get nothing for the cookie, whatever they call themselves', async () => {
    for (const origin of [
      'https://evil.example.org',
      'null',
      'http://127.0.0.1:3000.evil.example.org',
      'http://127.0.0.1:30001',
      'https://127.0.0.1:3000',
      'HTTP://127.0.0.1:3000/',
    ]) {
      const answer = await service.graphql(
        '{ updateToken { statusCode accessToken } }',
        {},
        {
          cookie: `refresh_token=${person.refreshToken}`,
          origin,
        },
      );
      expect((await jsonOf(answer)).data.updateToken, origin).toEqual({ statusCode: 403, accessToken: null });
      expect(answer.headers.get('set-cookie'), origin).toBeNull();
    }
  });
});
