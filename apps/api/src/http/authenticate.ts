import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { sql } from 'kysely';
import type { AccessTokens, Principal } from '../accounts/tokens.ts';

export type { Principal } from '../accounts/tokens.ts';

/** Who makes a request: a living session of an active user. */
export interface Caller extends Principal {
  readonly role: 'user' | 'admin';
  readonly username: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/**
 * Reads the `Authorization` header and checks the token in it, without asking the database whether the session
 * still lives: the statement that the request runs anyway does that, or `requireSession`.
 * @throws {AppError} UNAUTHENTICATED
 */
export type VerifyAccessToken = (authorization: string | undefined) => Promise<Principal>;

export function createVerifyAccessToken(accessTokens: AccessTokens): VerifyAccessToken {
  return async (authorization) => accessTokens.verify(bearerToken(authorization));
}

/** `last_activity_at` is written at most this often. */
export const ACTIVITY_SECONDS = 60;

/**
 * Asks the database for the principal's session and user, and notes the activity.
 * @throws {AppError} UNAUTHENTICATED when the session was revoked or has expired, or its user is suspended or gone
 */
export async function requireSession(db: Db, principal: Principal): Promise<Caller> {
  const { rows } = await sql<Omit<Caller, keyof Principal>>`
    WITH live AS (
      SELECT s.id, s.last_activity_at, u.role, u.username, u.email,
        u.email_verified_at IS NOT NULL AS "emailVerified"
      FROM sessions s JOIN users u ON u.id = s.user_id
      WHERE s.id = ${principal.sessionId} AND s.user_id = ${principal.userId} AND u.state = 'active'
        AND s.revoked_at IS NULL AND s.expires_at > now() AND s.idle_expires_at > now()
    ), touched AS (
      -- Asked of the row itself as well: of requests that arrive together one writes, and the others see that it did.
      UPDATE sessions SET last_activity_at = now()
      WHERE id = (SELECT id FROM live) AND last_activity_at < now() - make_interval(secs => ${ACTIVITY_SECONDS})
    )
    SELECT role, username, email, "emailVerified" FROM live`.execute(db);
  const [caller] = rows;
  if (caller === undefined) throw sessionEnded();
  return { ...principal, ...caller };
}

export function sessionEnded(): AppError {
  return new AppError('UNAUTHENTICATED', 'The session has ended. Log in again.');
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw new AppError('UNAUTHENTICATED', 'An access token is required.');
  const token = /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1];
  if (token === undefined)
    throw new AppError('UNAUTHENTICATED', 'The Authorization header must be "Bearer <ACCESS_TOKEN>".');
  return token;
}
