import type { Db } from '@stowage/shared/database/open-database.ts';
import { type QuotaBytes, type QuotaSummary, quotaSummary } from '@stowage/shared/quota/quota-record.ts';
import { sql } from 'kysely';
import { ACTIVITY_SECONDS, sessionEnded } from '../http/authenticate.ts';
import { describeDevice } from './describe-device.ts';
import type { Principal } from './tokens.ts';

/** The contract's current-user record. */
export interface CurrentUserRecord {
  readonly user_id: string;
  readonly username: string;
  readonly token_type: 'session';
  /** When the session was opened, and last used: decimal Unix seconds. */
  readonly created_at: string;
  readonly last_activity: string;
  /** JSON: `{method, role, email, email_verified}`. */
  readonly auth_data: string;
  /** JSON: `{user_agent, browser, os, ip}`. */
  readonly device_info: string;
  readonly quota: QuotaSummary;
}

interface Row extends QuotaBytes {
  readonly username: string;
  readonly method: string;
  readonly role: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly user_agent: string | null;
  readonly ip: string | null;
  readonly created_at: number;
  readonly last_activity: number;
}

/**
 * The record of the session that the access token names, with its user and quota. It counts as activity, which is
 * written at most once a minute.
 * @throws {AppError} UNAUTHENTICATED when the session has ended
 */
export async function readCurrentUser(db: Db, principal: Principal): Promise<CurrentUserRecord> {
  const { rows } = await sql<Row>`
    WITH live AS (
      SELECT s.id, s.user_agent, s.ip, u.username, u.sign_up_method AS method, u.role, u.email,
        u.email_verified_at IS NOT NULL AS email_verified, q.stored_bytes, q.adjustment_bytes, q.max_bytes,
        s.created_at AS created, s.last_activity_at AS active,
        s.last_activity_at < now() - make_interval(secs => ${ACTIVITY_SECONDS}) AS stale
      FROM sessions s JOIN users u ON u.id = s.user_id JOIN quotas q ON q.user_id = u.id
      WHERE s.id = ${principal.sessionId} AND s.user_id = ${principal.userId} AND u.state = 'active'
        AND s.revoked_at IS NULL AND s.expires_at > now() AND s.idle_expires_at > now()
    ), touched AS (
      UPDATE sessions SET last_activity_at = now()
      WHERE id = (SELECT id FROM live) AND last_activity_at < now() - make_interval(secs => ${ACTIVITY_SECONDS})
    )
    SELECT *, floor(extract(epoch FROM created))::int8 AS created_at,
      floor(extract(epoch FROM CASE WHEN stale THEN now() ELSE active END))::int8 AS last_activity
    FROM live`.execute(db);
  const [row] = rows;
  if (row === undefined) throw sessionEnded();
  return {
    user_id: principal.userId,
    username: row.username,
    token_type: 'session',
    created_at: String(row.created_at),
    last_activity: String(row.last_activity),
    auth_data: JSON.stringify({
      method: row.method,
      role: row.role,
      email: row.email,
      email_verified: row.email_verified,
    }),
    device_info: JSON.stringify({
      user_agent: row.user_agent,
      ...describeDevice(row.user_agent ?? ''),
      ip: row.ip,
    }),
    quota: quotaSummary(row),
  };
}
