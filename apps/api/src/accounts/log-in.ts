import { randomUUID } from 'node:crypto';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { sql } from 'kysely';
import type { Throttles } from '../http/throttles.ts';
import { normaliseEmail } from './email-address.ts';
import type { Turns } from './one-at-a-time.ts';
import type { Passwords } from './passwords.ts';
import type { AccessTokens, RefreshTokens } from './tokens.ts';
import { USER_COLUMNS, type UserRecord, userRecord } from './user-record.ts';

export interface LogInDeps {
  readonly db: Db;
  readonly passwords: Passwords;
  readonly throttles: Throttles;
  readonly accessTokens: AccessTokens;
  readonly refreshTokens: RefreshTokens;
  readonly signupVerification: 'optional' | 'required';
  /** Guesses at one account that arrive together must not all see the same count of failures. */
  readonly loginTurns: Turns;
}

/** Where a session is opened from. */
export interface Client {
  readonly ip: string;
  readonly userAgent: string | undefined;
}

/** A session's tokens as they are handed out. */
export interface LoggedIn {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly user: UserRecord;
}

const IDLE_DAYS = 7;
const LIFETIME_DAYS = 30;
const MAX_USER_AGENT = 512;

/**
 * Opens a session. An unknown address, a wrong password and a suspended user look and take the same.
 * @throws {AppError} UNAUTHENTICATED, EMAIL_NOT_VERIFIED, RATE_LIMITED, OVERLOADED
 */
export async function logIn(
  deps: LogInDeps,
  input: { email: string; password: string },
  client: Client,
): Promise<LoggedIn> {
  const email = normaliseEmail(input.email);
  const account = email ?? input.email;
  return deps.loginTurns.run(`${client.ip} ${account}`, async () => {
    const user =
      email === undefined
        ? undefined
        : await deps.db
            .selectFrom('users')
            .select([...USER_COLUMNS, 'password_hash'])
            .where('email', '=', email)
            .where('state', '=', 'active')
            .executeTakeFirst();
    const matches = await deps.passwords.matches(input.password, user?.password_hash, () =>
      deps.throttles.checkLogin(client.ip, account),
    );
    if (!matches || user === undefined) {
      await deps.throttles.failedLogin(client.ip, account);
      throw wrongCredentials();
    }
    await deps.throttles.successfulLogin(client.ip, account);
    if (deps.signupVerification === 'required' && user.email_verified_at === null)
      throw new AppError(
        'EMAIL_NOT_VERIFIED',
        'Verify the address first, with the token from the mail. Signing up again sends a new one.',
      );

    const sessionId = randomUUID();
    await insertSession(deps.db, sessionId, user, client);
    return {
      accessToken: await deps.accessTokens.issue({ userId: user.id, sessionId }),
      refreshToken: deps.refreshTokens.issue({ sessionId, counter: 1 }),
      user: userRecord(user),
    };
  });
}

/** Only while the password that was compared still counts: comparing takes long enough for it to change. */
async function insertSession(
  db: Db,
  sessionId: string,
  user: { id: string; password_hash: string | null },
  client: Client,
): Promise<void> {
  const { numAffectedRows } = await sql`
    INSERT INTO sessions (id, user_id, user_agent, ip, idle_expires_at, expires_at)
    SELECT ${sessionId}::uuid, id, ${client.userAgent?.slice(0, MAX_USER_AGENT) ?? null}, ${client.ip},
      now() + make_interval(days => ${IDLE_DAYS}), now() + make_interval(days => ${LIFETIME_DAYS})
    FROM users WHERE id = ${user.id} AND state = 'active' AND password_hash = ${user.password_hash}`.execute(
    db,
  );
  if (numAffectedRows !== 1n) throw wrongCredentials();
}

function wrongCredentials(): AppError {
  return new AppError('UNAUTHENTICATED', 'The e-mail address or the password is wrong.');
}
