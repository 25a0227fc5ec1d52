import { AppError } from '@stowage/shared/errors/app-error.ts';
import { GraphQLError } from 'graphql';
import { auditServer } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maskErrors } from '../src/accounts/graphql-errors.ts';
import { type AccountsClient, type AccountsFixture, openAccounts, PASSWORD } from './accounts-fixture.ts';

let accounts: AccountsFixture;
let client: AccountsClient;

beforeAll(async () => {
  accounts = await openAccounts();
  client = await accounts.start();
});
afterAll(() => accounts?.close());

describe('GraphQL over HTTP', () => {
  it('passes the audit of the specification', async () => {
    const url = `${await client.app.listen({ port: 0, host: '127.0.0.1' })}/graphql`;
    const results = await auditServer({ url });
    const bad = results
      .filter((result) => result.status !== 'ok')
      .map(({ id, name, status }) => `${status} ${id} ${name}`);
    // Queries by GET are off on purpose.
    expect(bad.filter((line) => !/GET/.test(line))).toEqual([]);
    expect(bad.filter((line) => / MUST /.test(line))).toEqual([]);
  });

  it('refuses queries by GET', async () => {
    for (const accept of ['application/json', 'text/html']) {
      const response = await client.app.inject({ url: '/graphql?query={users{id}}', headers: { accept } });
      expect([response.statusCode, response.headers.allow]).toEqual([405, 'POST']);
    }
  });

  it('takes JSON only', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect((await client.post('{ __typename }', {}, { 'content-type': type })).statusCode).toBe(415);
  });

  it('takes bodies of 64 KiB', async () => {
    const send = (length: number) => {
      const body = JSON.stringify({ query: '{ __typename }' });
      return client.app.inject({
        method: 'POST',
        url: '/graphql',
        headers: { 'content-type': 'application/json' },
        payload: body.padEnd(length),
      });
    };
    expect((await send(65_536)).statusCode).toBe(200);
    expect((await send(65_537)).statusCode).toBe(413);
  });

  it('may not be cached', async () => {
    expect((await client.post('{ __typename }')).headers['cache-control']).toBe('no-store');
  });
});

describe('limits on queries', () => {
  const codeOf = async (query: string) => (await client.post(query)).json().errors?.[0]?.extensions?.code;

  it('allows 10 aliases, those in fragments counted wherever they are spread', async () => {
    const aliases = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: __typename`).join(' ');
    expect(await codeOf(`{ ${aliases(10)} }`)).toBeUndefined();
    expect(await codeOf(`{ ${aliases(11)} }`)).toBe('TOO_MANY_ALIASES');
    const six = `fragment F on Query { ${aliases(6)} }`;
    expect(await codeOf(`{ ...F } ${six}`)).toBeUndefined();
    expect(await codeOf(`{ ...F ... on Query { ...F } } ${six}`)).toBe('TOO_MANY_ALIASES');
  });

  it('is quick with fragments that double at each level', async () => {
    const fragments = Array.from(
      { length: 60 },
      (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`,
    );
    const query = `{ ...F0 } ${fragments.join(' ')} fragment F60 on Query { a: __typename }`;
    expect(await codeOf(query)).toBe('TOO_MANY_ALIASES');
    expect(
      (await client.post('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }')).json().errors,
    ).toBeDefined();
  });

  it('allows introspection 15 levels deep, and all else 6', async () => {
    const nested = (levels: number) => `${'ofType { '.repeat(levels)}name${' }'.repeat(levels)}`;
    expect(await codeOf(`{ __type(name: "User") { ${nested(13)} } }`)).toBeUndefined();
    expect(await codeOf(`{ __type(name: "User") { ${nested(14)} } }`)).toBe('QUERY_TOO_DEEP');
    const fragment = `fragment T on __Type { ${nested(13)} }`;
    expect(await codeOf(`{ __type(name: "User") { ofType { ...T } } } ${fragment}`)).toBe('QUERY_TOO_DEEP');
    // No query of ours is that deep, so the rule is asked before the schema.
    const deep = (levels: number) => `{ users { ${'id { '.repeat(levels)}id${' }'.repeat(levels)} } }`;
    const codes = async (levels: number) =>
      (await client.post(deep(levels)))
        .json()
        .errors.map((error: { extensions?: { code?: string } }) => error.extensions?.code);
    expect(await codes(4)).not.toContain('QUERY_TOO_DEEP');
    expect(await codes(5)).toContain('QUERY_TOO_DEEP');
  });

  it('allows 1,000 tokens', async () => {
    const message = async (fields: number) => {
      const { errors } = (await client.post(`{ ${'__typename '.repeat(fields)}}`)).json();
      return errors[0].message;
    };
    // Beyond some hundreds of equal fields graphql-js gives up comparing them, which is no matter of tokens.
    expect(await message(998)).not.toContain('tokens');
    expect(await message(999)).toContain('tokens');
  });

  it.each([
    [
      'two logins under aliases',
      'mutation { a: login(params: P) { statusCode } b: login(params: P) { statusCode } }',
    ],
    [
      'a login and a sign-up',
      'mutation { login(params: P) { statusCode } basicAuthSignUp(params: P) { statusCode } }',
    ],
    [
      'one here and one in a fragment',
      'mutation { login(params: P) { statusCode } ...F } fragment F on Mutation { a: login(params: P) { statusCode } }',
    ],
    [
      'a fragment spread twice',
      'mutation { ...F ...G } fragment F on Mutation { login(params: P) { statusCode } } fragment G on Mutation { ...F }',
    ],
    ['two refreshes', '{ updateToken { statusCode } a: updateToken { statusCode } }'],
  ])('refuses %s in one request', async (_, query) => {
    const params = '{ email: "a@example.org", password: "a password" }';
    expect(await codeOf(query.replaceAll('P)', `${params})`))).toBe('TOO_MANY_CREDENTIAL_FIELDS');
  });
});

describe('with introspection off', () => {
  it('does not show the schema, nor gives it away by suggestions', async () => {
    const closed = await accounts.start({ introspection: false });
    expect((await closed.post('{ __schema { types { name } } }')).json().errors).toBeDefined();
    expect((await closed.post('{ __type(name: "User") { name } }')).json().errors).toBeDefined();
    const { errors } = (await closed.post('{ user { id } }')).json();
    expect(errors[0].message).not.toContain('users');
    expect((await client.post('{ user { id } }')).json().errors[0].message).toContain('users');
    expect((await closed.post('{ __typename }')).json()).toEqual({ data: { __typename: 'Query' } });
  });
});

describe('errors', () => {
  it('that nobody foresaw are masked, and logged', async () => {
    const broken = await accounts.start({
      passwords: {
        ...accounts.deps.passwords,
        hash: async () => {
          throw new Error('secret cause: relation "users" does not exist');
        },
      },
    });
    const response = await broken.post(
      'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }',
      { params: { email: 'masked@example.org', password: PASSWORD } },
    );
    expect(response.json()).toMatchObject({ data: null, errors: [{ extensions: { code: 'INTERNAL' } }] });
    expect(response.body).not.toContain('secret cause');
    expect(accounts.lines.some((line) => line.includes('secret cause'))).toBe(true);
  });

  it.each([
    ['an unknown field', '{ nothing }', undefined, 'nothing'],
    ['a syntax error', '{', undefined, 'Syntax Error'],
    ['a query of too many tokens', `{ ${'__typename '.repeat(1_000)}}`, undefined, 'tokens'],
    [
      'variables that do not fit',
      'mutation ($params: LoginInput!) { login(params: $params) { statusCode } }',
      { params: { email: 'a@example.org' } },
      'password',
    ],
    ['a body without a query', undefined, undefined, 'Missing query'],
  ])('tell what is wrong with %s, and have a code', async (_, query, variables, text) => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const { errors } = (await client.post(query as string, variables, { accept })).json();
      expect(errors[0]).toMatchObject({ extensions: { code: 'QUERY_INVALID' } });
      expect(errors[0].message).toContain(text);
    }
  });

  it('tell where in the query they are', async () => {
    const { errors } = (await client.post('{ nothing }')).json();
    expect(errors[0].locations).toEqual([{ line: 1, column: 3 }]);
  });

  it('of a code that no operation on accounts announces are masked, and so is what a dependency said', () => {
    const logged: object[] = [];
    const log = { error: (fields: object) => logged.push(fields) };
    const masked = (code: 'QUOTA_EXCEEDED' | 'DATABASE_UNAVAILABLE' | 'UNAUTHENTICATED') => {
      const cause = new AppError(code, 'told by the cause');
      const errors = [new GraphQLError('told by the cause', { originalError: cause, path: ['users'] })];
      const [error] = maskErrors({ data: null, errors }, log).errors ?? [];
      return [error?.extensions.code, error?.message === 'told by the cause'];
    };
    expect(masked('QUOTA_EXCEEDED')).toEqual(['INTERNAL', false]);
    expect(masked('DATABASE_UNAVAILABLE')).toEqual(['DATABASE_UNAVAILABLE', false]);
    expect(logged).toHaveLength(2);
    expect(masked('UNAUTHENTICATED')).toEqual(['UNAUTHENTICATED', true]);
    expect(logged).toHaveLength(2);
  });

  it('of the request have a body, too', async () => {
    const type = (await client.post('{ __typename }', {}, { 'content-type': 'text/plain' })).json();
    expect(type).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    const accept = (await client.post('{ __typename }', {}, { accept: 'text/html' })).json();
    expect(accept).toMatchObject({ status: 406, code: 'NOT_ACCEPTABLE' });
  });
});

describe('the log', () => {
  it('has no passwords and no tokens, whatever happens', async () => {
    const password = 'a-password-that-must-not-be-logged';
    const email = 'quiet@example.org';
    await client.signUp({ email, password });
    await client.logIn(email, `${password}-wrong`);
    const { answer } = await client.logIn(email, password);
    await client.refresh({
      'x-refresh-token': answer.refreshToken!,
      cookie: `refresh_token=${answer.refreshToken}`,
    });
    await client.users(answer.accessToken!);
    await client.users(`${answer.accessToken}x`);
    await client.verify('a-verification-token.that-must-not-be-logged');
    await client.post(
      `mutation { login(params: { email: "${email}", password: "${password}" }) { nothing } }`,
    );
    const log = accounts.lines.join('');
    expect(log).toContain('/graphql');
    for (const secret of [
      password,
      answer.accessToken!,
      answer.refreshToken!,
      'a-verification-token',
      '$2b$',
    ])
      expect(log).not.toContain(secret);
  });
});
