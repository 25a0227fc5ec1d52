import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tokenFromMail } from './client.ts';
import { needed, type Tour, type Visitor } from './tour.ts';

interface LoginAnswer {
  login: {
    statusCode: number;
    accessToken: string | null;
    refreshToken: string | null;
    user: { id: string } | null;
  };
}

const SIGN_UP = `mutation ($params: BasicAuthSignupInput!) {
  basicAuthSignUp(params: $params) { statusCode message user { id email emailVerified } }
}`;
const VERIFY = `mutation ($params: VerifySignupTokenInput!) { verifySignupToken(params: $params) { statusCode message } }`;
const LOG_IN = `mutation ($params: LoginInput!) {
  login(params: $params) { statusCode message accessToken refreshToken user { id } }
}`;

/** Signs up, reads the mail, verifies, logs in, and looks at the accounts from the user's and the administrator's side. */
export async function tourAccounts(tour: Tour): Promise<Visitor | undefined> {
  const { client } = tour;
  const email = `visitor-${Date.now()}@example.com`;
  const password = 'a long enough password';
  let visitor: Visitor | undefined;
  let refreshToken: string | undefined;

  await tour.step('sign up', async () => {
    const params = { email, password, firstName: 'Vera' };
    const { basicAuthSignUp } = await client.graphql<{
      basicAuthSignUp: { statusCode: number; user: { email: string; emailVerified: boolean } | null };
    }>(SIGN_UP, { params });
    assert.equal(basicAuthSignUp.statusCode, 201);
    assert.equal(basicAuthSignUp.user?.email, email);
    assert.equal(basicAuthSignUp.user.emailVerified, false);
  });

  await tour.step('verify with the token from the mail, once', async () => {
    const params = { token: await tokenFromMail(tour.dataFolder, email) };
    type Answer = { verifySignupToken: { statusCode: number } };
    assert.equal((await client.graphql<Answer>(VERIFY, { params })).verifySignupToken.statusCode, 200);
    assert.equal((await client.graphql<Answer>(VERIFY, { params })).verifySignupToken.statusCode, 400);
  });

  await tour.step('a wrong password is 401', async () => {
    const { login } = await client.graphql<LoginAnswer>(LOG_IN, {
      params: { email, password: `not ${password}` },
    });
    assert.equal(login.statusCode, 401);
    assert.equal(login.accessToken, null);
  });

  await tour.step('log in', async () => {
    visitor = await logIn(tour, email, password, (token) => {
      refreshToken = token;
    });
  });

  await tour.step('the current user, with the quota', async () => {
    const { headers, id } = needed(visitor, 'login');
    const record = await json(await client.get('/', headers), 200);
    assert.equal(record.user_id, id);
    assert.equal(record.token_type, 'session');
    assert.match(String(record.created_at), /^\d{10}$/);
    assert.equal(JSON.parse(String(record.auth_data)).email, email);
    assert.equal(typeof JSON.parse(String(record.device_info)).ip, 'string');
    assert.deepEqual(record.quota, { current_quota: 0, max_quota: 10 * 1024 ** 3, usage_percentage: 0 });
  });

  await tour.step('tokens are exchanged for new ones', async () => {
    const query = '{ updateToken { statusCode accessToken refreshToken } }';
    const { updateToken } = await client.graphql<{
      updateToken: { statusCode: number; accessToken: string };
    }>(query, {}, { 'x-refresh-token': needed(refreshToken, 'refresh token') });
    assert.equal(updateToken.statusCode, 200);
    const answer = await client.get('/', { authorization: `Bearer ${updateToken.accessToken}` });
    assert.equal(answer.status, 200);
  });

  await tour.step('garbage for a token is 401, as a problem document', async () => {
    const answer = await client.get('/', { authorization: 'Bearer garbage' });
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/);
    assert.equal((await json(answer, 401)).code, 'UNAUTHENTICATED');
  });

  await tour.step('the administrator of the data folder logs in and sees all users', async () => {
    if (process.env.ADMIN_EMAIL) return 'ADMIN_EMAIL is set: not tried';
    const adminPassword = (await readFile(join(tour.dataFolder, 'admin-password'), 'utf8')).trim();
    const admin = await logIn(tour, 'admin@localhost', adminPassword);
    const { users } = await client.graphql<{ users: { email: string }[] }>(
      '{ users { email } }',
      {},
      admin.headers,
    );
    const emails = users.map((user) => user.email);
    assert.ok(emails.includes(email) && emails.includes('admin@localhost'), emails.join());
  });
  return visitor;
}

/** Logs in and returns what later steps need. */
export async function logIn(
  tour: Tour,
  email: string,
  password: string,
  onRefreshToken: (token: string) => void = () => undefined,
): Promise<Visitor> {
  const { login } = await tour.client.graphql<LoginAnswer>(LOG_IN, { params: { email, password } });
  assert.equal(login.statusCode, 200);
  assert.ok(login.accessToken !== null && login.refreshToken !== null && login.user !== null);
  onRefreshToken(login.refreshToken);
  return { id: login.user.id, email, password, headers: { authorization: `Bearer ${login.accessToken}` } };
}

/** The body of an answer that must have the status. */
export async function json(response: Response, status: number): Promise<Record<string, unknown>> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as Record<string, unknown>; // a JSON object, or the assertions on its fields fail
}
