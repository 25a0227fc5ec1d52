import { randomUUID } from 'node:crypto';
import { signUpToken } from '@stowage/shared/secrets/sign-up-token.ts';
import { ensureAdministrator } from '../src/accounts/ensure-administrator.ts';
import { requireSession } from '../src/http/authenticate.ts';
import { type AccountsClient, type AccountsFixture, PASSWORD, SECRET_KEY } from './accounts-fixture.ts';

export type AccountsPeople = ReturnType<typeof accountsPeople>;

/** Users of the tests, with what one wants to know about them. */
export function accountsPeople(accounts: AccountsFixture, client: AccountsClient) {
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

  /** A new, verified user and its tokens. */
  async function loggedIn(name: string) {
    const email = `${name}-${randomUUID()}@example.org`;
    const { answer } = await client.signUp({ email, password: PASSWORD });
    const [token] = await mailedTokens(email);
    await client.verify(token!);
    const session = (await client.logIn(email)).answer;
    return {
      email,
      id: answer.user!.id,
      accessToken: session.accessToken!,
      refreshToken: session.refreshToken!,
    };
  }

  async function administrator(name = 'admin') {
    const email = `${name}-${randomUUID()}@example.org`;
    await ensureAdministrator(accounts.deps, { email, password: PASSWORD });
    const { answer } = await client.logIn(email);
    return { email, id: answer.user!.id, accessToken: answer.accessToken! };
  }

  /** Whether the access token still opens anything. */
  async function lives(accessToken: string): Promise<boolean> {
    const principal = await accounts.deps.verifyAccessToken(`Bearer ${accessToken}`);
    return requireSession(accounts.db, principal).then(
      () => true,
      (error) => {
        if (error.code !== 'UNAUTHENTICATED') throw error;
        return false;
      },
    );
  }

  return { mailedTokens, loggedIn, administrator, lives };
}
