import type { Db } from '@stowage/shared/database/open-database.ts';
import type { UsersTable } from '@stowage/shared/database/schema.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type Selectable, sql } from 'kysely';
import type { Throttles } from '../http/throttles.ts';
import type { LoggedIn } from './log-in.ts';
import type { AccessTokens, RefreshTokens } from './tokens.ts';
import { USER_COLUMNS, userRecord } from './user-record.ts';

export interface RefreshDeps {
  readonly db: Db;
  readonly throttles: Throttles;
  readonly accessTokens: AccessTokens;
  readonly refreshTokens: RefreshTokens;
  /** How long the token before the current one still gets the current one. */
  readonly graceSeconds?: number;
}

const GRACE_SECONDS = 10;
const IDLE_DAYS = 7;

/**
 * Exchanges a refresh token for new tokens. The current one rotates; the one before it, for a few seconds, gets the
 * current one again, because tabs refresh at the same time; an older one is in the wrong hands, and ends the session.
 * @throws {AppError} UNAUTHENTICATED, RATE_LIMITED
 */
export async function refreshTokens(deps: RefreshDeps, token: string, ip: string): Promise<LoggedIn> {
  const claim = deps.refreshTokens.read(token);
  if (claim === undefined) throw new AppError('UNAUTHENTICATED', 'The refresh token is not valid.');
  await deps.throttles.countRefresh(ip, claim.sessionId);

  const session = await rotate(deps.db, claim.sessionId, claim.counter, deps.graceSeconds ?? GRACE_SECONDS);
  if (session === undefined || claim.counter > session.counter)
    throw new AppError('UNAUTHENTICATED', 'The session has ended. Log in again.');
  if (session.reused)
    throw new AppError(
      'UNAUTHENTICATED',
      'This refresh token was used before, so the session was ended. Log in again.',
    );
  return {
    accessToken: await deps.accessTokens.issue({ userId: session.id, sessionId: claim.sessionId }),
    refreshToken: deps.refreshTokens.issue({ sessionId: claim.sessionId, counter: session.counter }),
    user: userRecord(session),
  };
}

type Rotated = Pick<Selectable<UsersTable>, (typeof USER_COLUMNS)[number]> & {
  counter: number;
  reused: boolean;
};

/**
 * One statement, so that of tokens that arrive together one rotates and the others see that it did, and so that a
 * revocation is committed when the answer goes out.
 */
async function rotate(
  db: Db,
  sessionId: string,
  counter: number,
  grace: number,
): Promise<Rotated | undefined> {
  const current = sql<boolean>`s.refresh_counter = ${counter}`;
  const reused = sql<boolean>`(s.refresh_counter > ${counter} + 1 OR s.refresh_counter = ${counter} + 1
    AND s.rotated_at <= now() - make_interval(secs => ${grace}))`;
  const { rows } = await sql<Rotated>`
    UPDATE sessions s SET
      refresh_counter = CASE WHEN ${current} THEN s.refresh_counter + 1 ELSE s.refresh_counter END,
      rotated_at = CASE WHEN ${current} THEN now() ELSE s.rotated_at END,
      last_activity_at = CASE WHEN ${current} THEN now() ELSE s.last_activity_at END,
      idle_expires_at = CASE WHEN ${current} THEN now() + make_interval(days => ${IDLE_DAYS}) ELSE s.idle_expires_at END,
      revoked_at = CASE WHEN ${reused} THEN now() END
    FROM users u
    WHERE s.id = ${sessionId} AND u.id = s.user_id AND u.state = 'active'
      AND s.revoked_at IS NULL AND s.expires_at > now() AND s.idle_expires_at > now()
    RETURNING s.refresh_counter AS counter, s.revoked_at IS NOT NULL AS reused,
      ${sql.join(USER_COLUMNS.map((column) => sql.ref(`u.${column}`)))}`.execute(db);
  return rows[0];
}
