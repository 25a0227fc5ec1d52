import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCurrentUser } from '../src/accounts/current-user.ts';
import { ensureAdministrator } from '../src/accounts/ensure-administrator.ts';
import { type AccountsClient, type AccountsFixture, openAccounts, PASSWORD } from './accounts-fixture.ts';
import { type AccountsPeople, accountsPeople } from './accounts-people.ts';

let accounts: AccountsFixture;
let people: AccountsPeople;
let optional: AccountsClient;
let required: AccountsClient;

beforeAll(async () => {
  accounts = await openAccounts();
  optional = await accounts.start();
  required = await accounts.start({ signupVerification: 'required' });
  people = accountsPeople(accounts, optional);
});
afterAll(() => accounts?.close());

describe('the main path', () => {
  it('goes from sign-up over verification and login to the current-user record', async () => {
    const email = 'main@example.org';
    const signedUp = await optional.signUp({ email, password: PASSWORD, firstName: 'Ada' });
    expect(signedUp.answer).toMatchObject({
      statusCode: 201,
      errors: null,
      user: { email, emailVerified: false },
    });

    const [token] = await people.mailedTokens(email);
    expect((await optional.verify(token!)).answer.statusCode).toBe(200);

    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
    const { answer } = await optional.logIn(email, PASSWORD, { 'user-agent': userAgent });
    expect(answer).toMatchObject({ statusCode: 200, user: { emailVerified: true } });

    const principal = await accounts.deps.verifyAccessToken(`Bearer ${answer.accessToken}`);
    const record = await readCurrentUser(accounts.db, principal);
    expect(record).toMatchObject({
      user_id: answer.user?.id,
      username: 'main',
      token_type: 'session',
      quota: { current_quota: 0, max_quota: 1_000_000, usage_percentage: 0 },
    });
    expect(record.created_at).toMatch(/^\d{10}$/);
    expect(record.last_activity).toMatch(/^\d{10}$/);
    expect(JSON.parse(record.auth_data)).toEqual({
      method: 'basic',
      role: 'user',
      email,
      email_verified: true,
    });
    expect(JSON.parse(record.device_info)).toEqual({
      user_agent: userAgent,
      browser: 'Firefox 128',
      os: 'Linux',
      ip: '127.0.0.1',
    });
  });
});

describe('signing up', () => {
  it('names each bad field', async () => {
    const { answer } = await optional.signUp({
      email: 'no address',
      password: 'short',
      username: 'a\u0000b',
      firstName: 'x'.repeat(101),
    });
    expect(answer).toMatchObject({ statusCode: 400, user: null });
    expect(answer.errors?.map(({ field, code }) => [field, code])).toEqual([
      ['email', 'EMAIL_INVALID'],
      ['password', 'PASSWORD_TOO_SHORT'],
      ['username', 'TEXT_INVALID'],
      ['firstName', 'TEXT_TOO_LONG'],
    ]);
  });

  it.each([
    ['7 characters', '7 chars', 'PASSWORD_TOO_SHORT'],
    ['73 bytes', `${'é'.repeat(36)}x`, 'PASSWORD_TOO_LONG'],
    ['one of the commonest', 'Password123', 'PASSWORD_TOO_COMMON'],
  ])('refuses a password of %s', async (_, password, code) => {
    const { answer } = await optional.signUp({ email: `${randomUUID()}@example.org`, password });
    expect(answer).toMatchObject({ statusCode: 400, errors: [{ field: 'password', code }] });
  });

  it('takes a password of 72 bytes, and never the same one with a byte more', async () => {
    const email = `${randomUUID()}@example.org`;
    const password = 'é'.repeat(36);
    expect((await optional.signUp({ email, password })).answer.statusCode).toBe(201);
    expect((await optional.logIn(email, password)).answer.statusCode).toBe(200);
    expect((await optional.logIn(email, `${password}x`)).answer.statusCode).toBe(401);
  });

  it('takes a password in whichever form a keyboard writes it', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: 'caf\u00e9 ol\u00e9 123' });
    expect((await optional.logIn(email, 'cafe\u0301 ole\u0301 123')).answer.statusCode).toBe(200);
  });

  it('refuses a known address, with a new mail as long as it is unverified', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const again = await optional.signUp({ email: email.toUpperCase(), password: 'another password' });
    const taken = { statusCode: 409, user: null, errors: [{ field: 'email', code: 'EMAIL_TAKEN' }] };
    expect(again.answer).toMatchObject(taken);
    expect(again.answer.message).toContain('A new mail');

    const tokens = await people.mailedTokens(email);
    expect(tokens).toHaveLength(2);
    expect((await optional.verify(tokens[1]!)).answer.statusCode).toBe(200);
    expect((await optional.logIn(email, 'another password')).answer.statusCode).toBe(401);
    expect((await optional.logIn(email)).answer.statusCode).toBe(200);

    const third = await optional.signUp({ email, password: PASSWORD });
    expect(third.answer).toMatchObject(taken);
    expect(third.answer.message).not.toContain('A new mail');
    expect(await people.mailedTokens(email)).toHaveLength(2);
  });

  it('makes one user of sign-ups with the same address at the same time', async () => {
    const email = `${randomUUID()}@example.org`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => optional.signUp({ email, password: PASSWORD })),
    );
    expect(answers.map(({ answer }) => answer.statusCode).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  it('queues a mail for each sign-up, with the id of the request', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const job = await accounts.db
      .selectFrom(['outbox', 'sign_ups'])
      .innerJoin('users', 'users.id', 'sign_ups.user_id')
      .select(['outbox.name', 'outbox.request_id'])
      .where(sql<boolean>`outbox.payload->>'signUpId' = sign_ups.id::text`)
      .where('users.email', '=', email)
      .executeTakeFirstOrThrow();
    expect(job).toMatchObject({ name: 'send-mail', request_id: expect.stringMatching(/./) });
  });
});

describe('signing up where verification is required', () => {
  it('answers the same for new, unverified and verified addresses, with a mail each time', async () => {
    const email = `${randomUUID()}@example.org`;
    const first = (await required.signUp({ email, password: PASSWORD })).answer;
    const second = (await required.signUp({ email, password: 'the second password' })).answer;
    const [, token] = await people.mailedTokens(email);
    await required.verify(token!);
    const third = (await required.signUp({ email, password: 'the third password' })).answer;
    expect(first).toMatchObject({ statusCode: 201, user: null, errors: null });
    expect([second, third]).toEqual([first, first]);
    expect(await people.mailedTokens(email)).toHaveLength(3);
  });

  it('refuses a login before verification, to who knows the password', async () => {
    const email = `${randomUUID()}@example.org`;
    await required.signUp({ email, password: PASSWORD });
    expect((await required.logIn(email)).answer).toMatchObject({
      statusCode: 403,
      accessToken: null,
      errors: [{ code: 'EMAIL_NOT_VERIFIED' }],
    });
    expect((await required.logIn(email, 'wrong password')).answer.statusCode).toBe(401);
    const [token] = await people.mailedTokens(email);
    await required.verify(token!);
    expect((await required.logIn(email)).answer.statusCode).toBe(200);
  });

  it('lets the password and names of the redeemed sign-up count', async () => {
    const email = `${randomUUID()}@example.org`;
    await required.signUp({ email, password: 'of a stranger', username: 'stranger' });
    await required.signUp({ email, password: PASSWORD, username: 'owner' });
    const [strangers, owners] = await people.mailedTokens(email);
    await required.verify(owners!);
    expect((await required.logIn(email, 'of a stranger')).answer.statusCode).toBe(401);
    const { answer } = await required.logIn(email);
    expect(answer.statusCode).toBe(200);
    expect((await required.verify(strangers!)).answer.statusCode).toBe(400);
    const user = await accounts.db
      .selectFrom('users')
      .select('username')
      .where('email', '=', email)
      .execute();
    expect(user).toEqual([{ username: 'owner' }]);
  });

  it('ends the sessions of whoever knew an earlier password only', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: 'of a stranger' });
    const stranger = (await optional.logIn(email, 'of a stranger')).answer;
    await required.signUp({ email, password: PASSWORD });
    const [, owners] = await people.mailedTokens(email);
    await required.verify(owners!);
    expect(await people.lives(stranger.accessToken!)).toBe(false);
  });

  it('leaves the sessions of whoever verifies their own', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const session = (await optional.logIn(email)).answer;
    const [token] = await people.mailedTokens(email);
    await optional.verify(token!);
    expect(await people.lives(session.accessToken!)).toBe(true);
  });
});

describe('verifying a sign-up', () => {
  it('takes a token once, however often it comes at the same time', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const [token] = await people.mailedTokens(email);
    const answers = await Promise.all(Array.from({ length: 5 }, () => optional.verify(token!)));
    expect(answers.map(({ answer }) => answer.statusCode).sort()).toEqual([200, 400, 400, 400, 400]);
  });

  it('refuses a wrong and an expired token, naming the field', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const [token] = await people.mailedTokens(email);
    const wrong = token!.slice(0, -2) + (token!.endsWith('AA') ? 'QQ' : 'AA');
    for (const bad of [wrong, 'nonsense', '', `${token}x`])
      expect((await optional.verify(bad)).answer).toMatchObject({
        statusCode: 400,
        errors: [{ field: 'token', code: 'INVALID_VERIFICATION_TOKEN' }],
      });

    const user = await accounts.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    await accounts.db
      .updateTable('sign_ups')
      .set({ expires_at: new Date(0) })
      .where('user_id', '=', user.id)
      .execute();
    const [expired] = await people.mailedTokens(email);
    expect((await optional.verify(expired!)).answer.statusCode).toBe(400);
  });
});

describe('logging in', () => {
  it('answers an unknown address and a wrong password the same', async () => {
    const { email } = await people.loggedIn('same');
    const unknown = (await optional.logIn('nobody@example.org')).answer;
    const wrong = (await optional.logIn(email, 'wrong password')).answer;
    expect(unknown).toMatchObject({ statusCode: 401, accessToken: null, refreshToken: null, user: null });
    expect(wrong).toEqual(unknown);
    expect((await optional.logIn('no address')).answer).toEqual(unknown);
  });

  it('computes one hash whether the address is known or not', async () => {
    const { email } = await people.loggedIn('timing');
    const hashes: (string | null | undefined)[] = [];
    const counting = await accounts.start({
      passwords: {
        ...accounts.deps.passwords,
        matches: async (password, hash) => {
          hashes.push(hash);
          return accounts.deps.passwords.matches(password, hash);
        },
      },
    });
    await counting.logIn(email, 'wrong password');
    await counting.logIn('nobody@example.org', 'wrong password');
    await counting.logIn('no address', 'wrong password');
    expect(hashes).toEqual([expect.stringMatching(/^\$2b\$/), undefined, undefined]);
  });

  it('opens no session for a password that was changed while it was compared', async () => {
    const { email } = await people.loggedIn('race');
    const slow = await accounts.start({
      passwords: {
        ...accounts.deps.passwords,
        matches: async (password, hash) => {
          await ensureAdministrator(accounts.deps, { email, password: 'the new password' });
          return accounts.deps.passwords.matches(password, hash);
        },
      },
    });
    expect((await slow.logIn(email)).answer.statusCode).toBe(401);
  });
});
