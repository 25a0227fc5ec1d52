import { signUpToken } from '@stowage/shared/secrets/sign-up-token.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCurrentUser } from '../src/accounts/current-user.ts';
import { type AccountsFixture, openAccounts, PASSWORD, SECRET_KEY } from './accounts-fixture.ts';

let accounts: AccountsFixture;
let optional: Awaited<ReturnType<AccountsFixture['start']>>;
let required: Awaited<ReturnType<AccountsFixture['start']>>;

beforeAll(async () => {
  accounts = await openAccounts();
  optional = await accounts.start();
  required = await accounts.start({ signupVerification: 'required' });
});
afterAll(() => accounts?.close());

/** The tokens mailed to an address, oldest first. */
async function mailedTokens(email: string): Promise<string[]> {
  const rows = await accounts.db
    .selectFrom('sign_ups')
    .innerJoin('users', 'users.id', 'sign_ups.user_id')
    .selectAll('sign_ups')
    .where('users.email', '=', email)
    .orderBy('sign_ups.id')
    .execute();
  return rows.map((row) => signUpToken(SECRET_KEY, row));
}

describe('the main path', () => {
  it('goes from sign-up over verification and login to the current-user record', async () => {
    const email = 'main@example.org';
    const signedUp = await optional.signUp({ email, password: PASSWORD, firstName: 'Ada' });
    expect(signedUp.answer).toMatchObject({
      statusCode: 201,
      errors: null,
      user: { email, emailVerified: false },
    });

    const [token] = await mailedTokens(email);
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
