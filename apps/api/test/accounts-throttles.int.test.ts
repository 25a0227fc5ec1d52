import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testRedisUrl } from '../../../scripts/testing/service-addresses.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { createThrottles, type Throttles, throttleKey } from '../src/http/throttles.ts';
import { openThrottlesStore, type ThrottlesStore } from '../src/http/throttles-store.ts';
import { type AccountsClient, type AccountsFixture, openAccounts, PASSWORD } from './accounts-fixture.ts';

let accounts: AccountsFixture;
beforeAll(async () => {
  accounts = await openAccounts();
});
afterAll(() => accounts?.close());

const redisUrl = testRedisUrl();
const stores = [
  {
    name: 'Postgres',
    open: () => openThrottlesStore({ kind: 'postgres', db: accounts.db }, accounts.logger),
  },
  ...(redisUrl === undefined
    ? []
    : [{ name: 'Redis', open: () => openThrottlesStore({ kind: 'redis', url: redisUrl }, accounts.logger) }]),
];

/** Until its connection is there, a store counts in memory: waits for the first count that Redis has. */
async function inRedis(store: ThrottlesStore): Promise<void> {
  const redis = new Redis(redisUrl!);
  try {
    await waitFor(async () => {
      await store.limiter('connected', { points: 1_000, duration: 60 }).penalty('x');
      return (await redis.exists('stowage:throttle:connected:x')) === 1;
    });
  } finally {
    redis.disconnect();
  }
}

describe.each(stores)('throttles on $name', ({ name, open }) => {
  let store: ThrottlesStore;
  let throttles: Throttles;
  let client: AccountsClient;
  let email: string;
  let ip: string;
  let addresses = 0;

  beforeAll(async () => {
    store = open();
    throttles = createThrottles({ store, production: true });
    if (name === 'Redis') await inRedis(store);
    client = await accounts.start({ throttles });
  });
  afterAll(() => store?.close());

  beforeEach(async () => {
    addresses += 1;
    ip = `192.0.2.${addresses}`;
    email = `${randomUUID()}@example.org`;
    await client.signUp({ email, password: PASSWORD }, { 'x-forwarded-for': ip });
  });

  const from = (address = ip) => ({ 'x-forwarded-for': address });
  const attempt = async (password: string, address?: string, account = email) =>
    client.logIn(account, password, from(address));

  it('close an account to an address after 5 failures, and to no other', async () => {
    for (let n = 0; n < 5; n += 1) expect((await attempt('wrong password')).answer.statusCode).toBe(401);
    const { answer, response } = await attempt(PASSWORD);
    expect(answer).toMatchObject({ statusCode: 429, accessToken: null, errors: [{ code: 'RATE_LIMITED' }] });
    const seconds = Number(response.headers['retry-after']);
    expect(seconds).toBeGreaterThan(14 * 60);
    expect(seconds).toBeLessThanOrEqual(15 * 60);
    expect((await attempt(PASSWORD, '198.51.100.1')).answer.statusCode).toBe(200);
    expect((await attempt('wrong password', ip, 'another@example.org')).answer.statusCode).toBe(401);
  });

  it('count guesses that arrive together', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => attempt('wrong password')));
    const codes = answers.map(({ answer }) => answer.statusCode);
    expect(codes.filter((code) => code === 401)).toHaveLength(5);
    expect(codes.filter((code) => code === 429)).toHaveLength(15);
  });

  it('let logins that arrive together all in', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => attempt(PASSWORD)));
    expect(answers.map(({ answer }) => answer.statusCode)).toEqual(Array(12).fill(200));
  });

  it('forget the failures at a success', async () => {
    for (let n = 0; n < 4; n += 1) await attempt('wrong password');
    expect((await attempt(PASSWORD)).answer.statusCode).toBe(200);
    for (let n = 0; n < 4; n += 1) await attempt('wrong password');
    expect((await attempt(PASSWORD)).answer.statusCode).toBe(200);
  });

  it('count by the /64 of an IPv6 address', async () => {
    const hosts = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:0db8:0001:0002:0:0:0:3'];
    for (let n = 0; n < 5; n += 1) await attempt('wrong password', hosts[n % 3]);
    expect((await attempt(PASSWORD, '2001:db8:1:2::9')).answer.statusCode).toBe(429);
    expect((await attempt(PASSWORD, '2001:db8:1:3::9')).answer.statusCode).toBe(200);
  });

  it('close longer each time: 15, 30, then 60 minutes', async () => {
    const waits: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      // A closing ends with its time: the count of failures is gone then, and the closings are remembered.
      await store.limiter('login-account', { points: 5, duration: 900 }).delete(throttleKey(ip, email));
      for (let n = 0; n < 5; n += 1) await throttles.failedLogin(ip, email);
      const refusal = await throttles.checkLogin(ip, email).catch((error) => error);
      waits.push(Math.round(refusal.details.retry_after_seconds / 60));
    }
    expect(waits).toEqual([15, 30, 60, 60]);
  });

  it('refuse all logins of an address after 100 failures', async () => {
    for (let n = 0; n < 100; n += 1) await throttles.failedLogin(ip, `${n}@example.org`);
    expect((await attempt(PASSWORD)).answer.statusCode).toBe(429);
    expect((await attempt(PASSWORD, '198.51.100.2')).answer.statusCode).toBe(200);
  });

  it('allow 10 sign-ups an hour in production, 500 otherwise', async () => {
    const signUp = () => client.signUp({ email: `${randomUUID()}@example.org`, password: PASSWORD }, from());
    // One was made before each test.
    for (let n = 0; n < 9; n += 1) expect((await signUp()).answer.statusCode).toBe(201);
    const { answer, response } = await signUp();
    expect(answer).toMatchObject({ statusCode: 429, user: null });
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(3_000);

    const lenient = createThrottles({ store, production: false });
    const address = `203.0.113.${addresses}`;
    for (let n = 0; n < 500; n += 1) await lenient.countSignUp(address);
    await expect(lenient.countSignUp(address)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('allow 30 refreshes a minute per session', async () => {
    let token = (await attempt(PASSWORD)).answer.refreshToken!;
    const other = (await attempt(PASSWORD)).answer.refreshToken!;
    const refresh = (refreshToken: string) => client.refresh({ 'x-refresh-token': refreshToken, ...from() });
    for (let n = 0; n < 30; n += 1) token = (await refresh(token)).answer.refreshToken!;
    const { answer, response } = await refresh(token);
    expect(answer).toMatchObject({ statusCode: 429, refreshToken: null });
    expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect((await refresh(other)).answer.statusCode).toBe(200);
  });
});

describe('throttles without Redis', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function silentServer(): Promise<string> {
    server = createServer(() => undefined);
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  it.each([
    ['that refuses connections', async () => 'redis://127.0.0.1:1'],
    ['that never answers', silentServer],
  ])('count in memory, with a Redis %s', async (_, address) => {
    const store = openThrottlesStore({ kind: 'redis', url: await address() }, accounts.logger);
    try {
      const client = await accounts.start({ throttles: createThrottles({ store, production: true }) });
      const guess = () => client.logIn('away@example.org', 'wrong password');
      for (let n = 0; n < 5; n += 1) expect((await guess()).answer.statusCode).toBe(401);
      expect((await guess()).answer.statusCode).toBe(429);
      await waitFor(() => accounts.lines.some((line) => line.includes('counting in memory')));
    } finally {
      await store.close();
    }
  });
});
