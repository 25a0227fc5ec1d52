import { randomUUID } from 'node:crypto';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFile } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
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

describe('listing users', () => {
  it('shows users themselves, and administrators everyone, newest first', async () => {
    const older = await people.loggedIn('older');
    const newer = await people.loggedIn('newer');
    const admin = await people.administrator();
    expect((await optional.users(older.accessToken)).data.users).toEqual([
      { id: older.id, email: older.email, role: 'USER' },
    ]);
    const everyone: { id: string }[] = (await optional.users(admin.accessToken)).data.users;
    expect(everyone.slice(0, 3).map((user) => user.id)).toEqual([admin.id, newer.id, older.id]);
  });

  it('needs a token', async () => {
    for (const token of [undefined, 'nonsense'])
      expect(await optional.users(token)).toMatchObject({
        data: null,
        errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
      });
  });
});

describe('administrators', () => {
  it('are made, left alone when nothing changed, and made once by several processes', async () => {
    const email = `${randomUUID()}@example.org`;
    const credentials = { email, password: PASSWORD };
    const outcomes = await Promise.all(
      Array.from({ length: 3 }, () => ensureAdministrator(accounts.deps, credentials)),
    );
    expect(outcomes.sort()).toEqual(['created', 'unchanged', 'unchanged']);
    const { accessToken } = (await optional.logIn(email)).answer;
    expect(await ensureAdministrator(accounts.deps, credentials)).toBe('unchanged');
    expect(await people.lives(accessToken!)).toBe(true);
  });

  it('take over an account of the same address: password, verified, sessions ended', async () => {
    const email = `${randomUUID()}@example.org`;
    await optional.signUp({ email, password: PASSWORD });
    const [token] = await people.mailedTokens(email);
    const squatter = (await optional.logIn(email)).answer;
    expect(await ensureAdministrator(accounts.deps, { email, password: 'of the operator' })).toBe('promoted');

    expect(await people.lives(squatter.accessToken!)).toBe(false);
    expect((await optional.logIn(email)).answer.statusCode).toBe(401);
    expect((await optional.verify(token!)).answer.statusCode).toBe(400);
    const { answer } = await required.logIn(email, 'of the operator');
    expect(answer).toMatchObject({ statusCode: 200, user: { emailVerified: true } });
    expect((await optional.users(answer.accessToken!)).data.users.length).toBeGreaterThan(1);
  });

  it('are refused with a password that could not sign up', async () => {
    await expect(
      ensureAdministrator(accounts.deps, { email: 'root@localhost', password: 'password123' }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

describe('suspending a user', () => {
  const suspend = (id: string, accessToken: string, suspended = true) =>
    optional.mutate(`suspendUser(params: { userId: "${id}", suspended: ${suspended} })`, accessToken);

  it('ends sessions at once and refuses logins, until it is lifted', async () => {
    const user = await people.loggedIn('suspended');
    const admin = await people.administrator();
    expect((await suspend(user.id, admin.accessToken)).answer.statusCode).toBe(200);
    expect(await people.lives(user.accessToken)).toBe(false);
    expect((await optional.refresh({ 'x-refresh-token': user.refreshToken })).answer.statusCode).toBe(401);
    expect((await optional.logIn(user.email)).answer).toEqual(
      (await optional.logIn('nobody@example.org')).answer,
    );

    expect((await suspend(user.id, admin.accessToken, false)).answer.statusCode).toBe(200);
    expect(await people.lives(user.accessToken)).toBe(false);
    expect((await optional.logIn(user.email)).answer.statusCode).toBe(200);
  });

  it('is for administrators, and not on themselves', async () => {
    const user = await people.loggedIn('user');
    const admin = await people.administrator();
    expect((await suspend(admin.id, user.accessToken)).answer.statusCode).toBe(403);
    expect((await suspend(randomUUID(), user.accessToken)).answer.statusCode).toBe(403);
    expect((await suspend(admin.id, admin.accessToken)).answer.statusCode).toBe(403);
    for (const nobody of [randomUUID(), 'nonsense'])
      expect((await suspend(nobody, admin.accessToken)).answer).toMatchObject({
        statusCode: 400,
        errors: [{ field: 'userId', code: 'USER_NOT_FOUND' }],
      });
    expect((await optional.mutate(`suspendUser(params: { userId: "${user.id}" })`)).answer.statusCode).toBe(
      401,
    );
  });
});

describe('deleting a user', () => {
  it('ends sessions, erases personal data and marks all files, and frees the address', async () => {
    const user = await people.loggedIn('deleted');
    const admin = await people.administrator();
    const file = await makeFile(accounts.db, user.id, {});
    const { answer } = await optional.mutate(
      `deleteUser(params: { userId: "${user.id}" })`,
      admin.accessToken,
    );
    expect(answer.statusCode).toBe(200);
    expect(await people.lives(user.accessToken)).toBe(false);
    expect((await optional.logIn(user.email)).answer.statusCode).toBe(401);

    const { db } = accounts;
    const row = await db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      state: 'deleted',
      email: null,
      password_hash: null,
      first_name: null,
      image: null,
    });
    expect(JSON.stringify(row)).not.toContain(user.email.split('@')[0]);
    expect(await db.selectFrom('sign_ups').select('id').where('user_id', '=', user.id).execute()).toEqual([]);
    const sessions = await db.selectFrom('sessions').selectAll().where('user_id', '=', user.id).execute();
    expect(sessions.map(({ ip, user_agent }) => [ip, user_agent])).toEqual(sessions.map(() => [null, null]));
    const deleting = await db
      .selectFrom('files')
      .select('state')
      .where('id', '=', file.id)
      .executeTakeFirstOrThrow();
    expect(deleting.state).toBe('deleting');
    const jobs = await db
      .selectFrom('outbox')
      .select(['request_id', 'payload'])
      .where('name', '=', 'delete-file')
      .execute();
    expect(jobs).toContainEqual({
      request_id: expect.stringMatching(/./),
      payload: { v: 1, fileId: file.id },
    });

    const users: { id: string }[] = (await optional.users(admin.accessToken)).data.users;
    expect(users.map(({ id }) => id)).not.toContain(user.id);
    expect(
      (await optional.mutate(`deleteUser(params: { userId: "${user.id}" })`, admin.accessToken)).answer
        .statusCode,
    ).toBe(400);
    expect((await optional.signUp({ email: user.email, password: PASSWORD })).answer.statusCode).toBe(201);
  });

  it('and an upload of theirs that is under way do not wait for each other in a circle', async () => {
    const user = await people.loggedIn('uploading');
    const admin = await people.administrator();
    const { db } = accounts;
    await makeFile(db, user.id, { render_state: 'pending' });
    await db.updateTable('quotas').set({ renders_outstanding: 1 }).where('user_id', '=', user.id).execute();
    let deleting: ReturnType<AccountsClient['mutate']> | undefined;
    await db.transaction().execute(async (trx) => {
      // What an upload's statements do, slowly: the quota first, then a row that refers to the user.
      await sql`SELECT FROM quotas WHERE user_id = ${user.id} FOR UPDATE`.execute(trx);
      deleting = optional.mutate(`deleteUser(params: { userId: "${user.id}" })`, admin.accessToken);
      await waitFor(async () => (await waitingForLocks(db)) > 0);
      const upload = { id: randomUUID(), user_id: user.id, reserved_bytes: 0, lease_until: new Date() };
      await trx.insertInto('uploads').values(upload).execute();
    });
    expect((await deleting)?.answer.statusCode).toBe(200);
    const files = await db.selectFrom('files').select('state').where('user_id', '=', user.id).execute();
    expect(files).toEqual([{ state: 'deleting' }]);
  });

  it('is for administrators, and not on themselves', async () => {
    const user = await people.loggedIn('user');
    const admin = await people.administrator();
    const remove = (id: string, accessToken?: string) =>
      optional.mutate(`deleteUser(params: { userId: "${id}" })`, accessToken);
    expect((await remove(user.id, user.accessToken)).answer.statusCode).toBe(403);
    expect((await remove(admin.id, admin.accessToken)).answer.statusCode).toBe(403);
    expect((await remove(user.id)).answer.statusCode).toBe(401);
    expect(await people.lives(user.accessToken)).toBe(true);
  });
});

async function waitingForLocks(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int4 AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db);
  return rows[0]!.count;
}
