import { randomUUID } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import fastify, { type FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { toAppError } from '../src/http/framework-errors.ts';
import { quotaRoutes } from '../src/quota/routes.ts';

let database: TestDatabase;
let app: FastifyInstance;
let user: string;
let other: string;
let admin: string;
let kicks = 0;

const MAX = 1_000_000;

beforeAll(async () => {
  database = await openTestDatabase();
  app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const { code, details } = toAppError(error);
    return reply.code(418).send({ code, details });
  });
  await app.register(quotaRoutes, {
    db: database.db,
    relayKick: () => {
      kicks += 1;
    },
    requireCaller: async (request: { headers: Record<string, unknown> }) => {
      const [role, userId] = String(request.headers.authorization).split(' ');
      if (userId === undefined || (role !== 'user' && role !== 'admin')) {
        throw new AppError('UNAUTHENTICATED', 'no token');
      }
      return { userId, role };
    },
  });
});

afterAll(async () => {
  await app.close();
  await database.close();
});

beforeEach(async () => {
  [user, other, admin] = await Promise.all([
    makeUser(database.db, { maxBytes: MAX }),
    makeUser(database.db, { maxBytes: MAX }),
    makeUser(database.db, { maxBytes: MAX, role: 'admin' }),
  ]);
  kicks = 0;
});

type Answer = { status: number; body: Record<string, unknown> };

async function call(
  method: 'GET' | 'POST',
  url: string,
  as: string | undefined,
  payload?: unknown,
): Promise<Answer> {
  const response = await app.inject({
    method,
    url,
    headers: {
      ...(as === undefined ? {} : { authorization: as }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(payload === undefined
      ? {}
      : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
  });
  return { status: response.statusCode, body: response.json() };
}

const increase = (userId: string, bytes: unknown, as = `user ${userId}`) =>
  call('POST', '/quota/increase', as, { user_id: userId, additional_bytes: bytes });
const set = (userId: string, bytes: unknown, as = `user ${userId}`) =>
  call('POST', '/quota/set', as, { user_id: userId, new_quota_bytes: bytes });
const limit = (userId: string, bytes: unknown, as = `admin ${admin}`) =>
  call('POST', '/quota/limit', as, { user_id: userId, max_quota_bytes: bytes });
const read = (userId: string, as = `user ${userId}`) =>
  call('GET', `/quota?user_id=${encodeURIComponent(userId)}`, as);

function record(userId: string, current: number, max = MAX): Answer {
  return { status: 200, body: { user_id: userId, current_quota: current, max_quota: max } };
}

function refused(code: string): unknown {
  return { status: 418, body: expect.objectContaining({ code }) };
}

function jobsOf(userId: string) {
  return database.db
    .selectFrom('outbox')
    .select(['queue', 'name', 'payload', 'request_id'])
    .where(sql`payload->>'userId'`, '=', userId)
    .execute();
}

describe('the quota operations', () => {
  it('read, increase and set answer with exactly the number the contract says', async () => {
    await makeFile(database.db, user, { size_bytes: 1_234 });
    expect(await read(user)).toEqual(record(user, 1_234));
    expect(await increase(user, 766)).toEqual(record(user, 2_000));
    expect(await set(user, 5)).toEqual(record(user, 5));
    expect(await read(user)).toEqual(record(user, 5));
    expect(await increase(user, 0)).toEqual(record(user, 5));
    expect(await set(user, 0)).toEqual(record(user, 0));
    expect(await set(user, MAX)).toEqual(record(user, MAX));
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('queue the posting of each change with the id of the request, and kick the relay', async () => {
    await increase(user, 10);
    await set(user, 4);
    expect(await jobsOf(user)).toEqual([
      expect.objectContaining({
        queue: 'quota-accounting',
        name: 'post-usage',
        payload: { v: 1, userId: user },
      }),
      expect.objectContaining({ request_id: expect.stringMatching(/./) }),
    ]);
    expect(kicks).toBe(2);
    const adjustments = await database.db
      .selectFrom('quota_adjustments')
      .select(['bytes', 'reason', 'actor_id'])
      .where('user_id', '=', user)
      .orderBy('id')
      .execute();
    expect(adjustments).toEqual([
      { bytes: 10, reason: 'increase', actor_id: user },
      { bytes: -6, reason: 'set', actor_id: user },
    ]);
  });

  it('refuse what would pass the limit, and change nothing', async () => {
    await makeFile(database.db, user, { size_bytes: 400_000 });
    expect(await increase(user, 600_001)).toEqual(refused('QUOTA_EXCEEDED'));
    expect(await set(user, MAX + 1)).toEqual(refused('QUOTA_EXCEEDED'));
    expect(await read(user)).toEqual(record(user, 400_000));
    expect(await jobsOf(user)).toEqual([]);
    expect(await increase(user, 600_000)).toEqual(record(user, MAX));
  });

  it('count what running uploads have reserved', async () => {
    await database.db
      .updateTable('quotas')
      .set({ reserved_bytes: 1_000 })
      .where('user_id', '=', user)
      .execute();
    expect(await increase(user, MAX - 999)).toEqual(refused('QUOTA_EXCEEDED'));
    expect(await set(user, MAX - 999)).toEqual(refused('QUOTA_EXCEEDED'));
    expect(await set(user, MAX - 1_000)).toEqual(record(user, MAX - 1_000));
  });

  it('take a body of JSON only', async () => {
    const payload = JSON.stringify({
      user_id: user,
      new_quota_bytes: 1,
      additional_bytes: 1,
      max_quota_bytes: 1,
    });
    for (const url of ['/quota/increase', '/quota/set', '/quota/limit'])
      for (const type of ['text/plain', 'application/xml', undefined]) {
        const headers = {
          authorization: `admin ${admin}`,
          ...(type !== undefined && { 'content-type': type }),
        };
        const answer = await app.inject({ method: 'POST', url, headers, payload });
        expect(answer.json(), `${url} ${type}`).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' });
      }
  });

  it('let only administrators set a limit, also below the usage', async () => {
    await makeFile(database.db, user, { size_bytes: 500 });
    expect(await limit(user, 100)).toEqual(record(user, 500, 100));
    expect(await increase(user, 1)).toEqual(refused('QUOTA_EXCEEDED'));
    expect(await limit(admin, 7)).toEqual(record(admin, 0, 7));
    expect(await limit(user, Number.MAX_SAFE_INTEGER)).toEqual(record(user, 500, Number.MAX_SAFE_INTEGER));
    expect(await set(user, Number.MAX_SAFE_INTEGER)).toEqual(
      record(user, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    );
    expect(await limit(user, 10, `user ${user}`)).toEqual(refused('FORBIDDEN'));
  });

  it('answer an administrator for anyone, and 404 for no one', async () => {
    const as = `admin ${admin}`;
    expect(await read(user, as)).toEqual(record(user, 0));
    expect(await increase(user, 5, as)).toEqual(record(user, 5));
    expect(await set(user, 3, as)).toEqual(record(user, 3));
    for (const unknown of [randomUUID(), 'nobody', "'; DROP TABLE quotas", '\0']) {
      expect(await read(unknown, as)).toEqual(refused('USER_NOT_FOUND'));
      expect(await increase(unknown, 1, as)).toEqual(refused('USER_NOT_FOUND'));
      expect(await set(unknown, 1, as)).toEqual(refused('USER_NOT_FOUND'));
      expect(await limit(unknown, 1, as)).toEqual(refused('USER_NOT_FOUND'));
    }
  });

  it('do not know a deleted user', async () => {
    await database.db
      .updateTable('users')
      .set({ state: 'deleted', email: null })
      .where('id', '=', user)
      .execute();
    const as = `admin ${admin}`;
    expect(await read(user, as)).toEqual(refused('USER_NOT_FOUND'));
    expect(await increase(user, 1, as)).toEqual(refused('USER_NOT_FOUND'));
    expect(await set(user, 1, as)).toEqual(refused('USER_NOT_FOUND'));
    expect(await limit(user, 1, as)).toEqual(refused('USER_NOT_FOUND'));
    const row = await database.db
      .selectFrom('quotas')
      .selectAll()
      .where('user_id', '=', user)
      .executeTakeFirst();
    expect(row).toMatchObject({ adjustment_bytes: 0, max_bytes: MAX });
    expect(await jobsOf(user)).toEqual([]);
  });

  it('refuse a user who asks for another, whether that one exists or not', async () => {
    const as = `user ${user}`;
    for (const another of [other, randomUUID(), 'nobody']) {
      expect(await read(another, as)).toEqual(refused('FORBIDDEN'));
      expect(await increase(another, 1, as)).toEqual(refused('FORBIDDEN'));
      expect(await set(another, 1, as)).toEqual(refused('FORBIDDEN'));
      expect(await limit(another, 1, as)).toEqual(refused('FORBIDDEN'));
    }
    expect(await read(other)).toEqual(record(other, 0));
  });

  it('look at the token before the body', async () => {
    expect(await call('POST', '/quota/increase', undefined, 'not json')).toEqual(refused('UNAUTHENTICATED'));
    expect(await call('POST', '/quota/set', 'garbage', {})).toEqual(refused('UNAUTHENTICATED'));
    expect(await call('POST', '/quota/limit', undefined, {})).toEqual(refused('UNAUTHENTICATED'));
    expect(await call('GET', '/quota', undefined)).toEqual(refused('UNAUTHENTICATED'));
  });

  const paths = [
    ['/quota/increase', 'additional_bytes'],
    ['/quota/set', 'new_quota_bytes'],
    ['/quota/limit', 'max_quota_bytes'],
  ] as const;

  describe.each(paths)('POST %s', (url, field) => {
    it.each([
      ['a string', '"5"', field],
      ['an empty string', '""', field],
      ['a negative number', '-1', field],
      ['a float', '1.5', field],
      ['2^60', '1152921504606846976', field],
      ['2^53', '9007199254740992', field],
      ['1e400', '1e400', field],
      ['null', 'null', field],
      ['a boolean', 'true', field],
      ['an array', '[5]', field],
      ['an object', '{"$gt":0}', field],
    ])('refuses %s, naming the field', async (_name, json, named) => {
      const body = `{"user_id":"${user}","${field}":${json}}`;
      expect(await call('POST', url, `admin ${admin}`, body)).toEqual({
        status: 418,
        body: { code: 'INVALID_REQUEST', details: { field: named, rule: expect.stringMatching(/./) } },
      });
      expect(await read(user)).toEqual(record(user, 0));
    });

    it.each([
      ['no fields', () => '{}', 'user_id'],
      ['no user', () => `{"${field}":1}`, 'user_id'],
      ['no bytes', () => `{"user_id":"${user}"}`, field],
      ['an empty user', () => `{"user_id":"","${field}":1}`, 'user_id'],
      ['a number as user', () => `{"user_id":5,"${field}":1}`, 'user_id'],
      ['a list of users', () => `{"user_id":["${user}"],"${field}":1}`, 'user_id'],
      ['an unknown field', () => `{"user_id":"${user}","${field}":1,"extra":1}`, 'extra'],
      ['__proto__', () => `{"user_id":"${user}","${field}":1,"__proto__":{"role":"admin"}}`, '__proto__'],
      [
        'constructor',
        () => `{"user_id":"${user}","${field}":1,"constructor":{"prototype":{}}}`,
        'constructor',
      ],
      ['a list', () => '[]', 'body'],
      ['null', () => 'null', 'body'],
      ['a number', () => '7', 'body'],
      ['broken JSON', () => '{"user_id":', 'body'],
      ['nothing', () => '', 'body'],
    ])('refuses %s, naming the field', async (_name, body, named) => {
      expect(await call('POST', url, `admin ${admin}`, body())).toEqual({
        status: 418,
        body: { code: 'INVALID_REQUEST', details: { field: named, rule: expect.stringMatching(/./) } },
      });
      expect(await read(user)).toEqual(record(user, 0));
    });
  });

  it.each([
    ['/quota', 'user_id'],
    ['/quota?user_id=', 'user_id'],
    ['/quota?user_id=a&user_id=b', 'user_id'],
    ['/quota?user_id=a&x=1', 'x'],
  ])('refuses GET %s, naming the field', async (url, field) => {
    expect(await call('GET', url, `admin ${admin}`)).toEqual({
      status: 418,
      body: { code: 'INVALID_REQUEST', details: { field, rule: expect.stringMatching(/./) } },
    });
  });
});

describe('many quota operations at once', () => {
  it('give each increase an answer of its own, and lose none', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => increase(user, 3)));
    const numbers = answers.map((answer) => answer.body.current_quota).sort((a, b) => Number(a) - Number(b));
    expect(numbers).toEqual(Array.from({ length: 50 }, (_, index) => 3 * (index + 1)));
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('let exactly as many increases in as fit', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => increase(user, 30_000)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(33);
    expect(await read(user)).toEqual(record(user, 990_000));
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('keep the books right while increases, sets and stored files race', async () => {
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        if (index % 3 === 0) return void (await increase(user, 1_000 + index));
        if (index % 3 === 1) return void (await set(user, 7_000 * index));
        return void (await makeFile(database.db, user, { size_bytes: 100 + index }));
      }),
    );
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });
});
