import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { StoredFileAnswer } from '../database/schema.ts';
import { ROOM } from './room.ts';

/** What a user is about to upload. */
export interface UploadIntent {
  /** UUID, new; the objects will be `originals/<id>/<n>`. */
  readonly id: string;
  /** Bytes to reserve; 0 when the length is not known yet. */
  readonly reserveBytes: number;
  readonly idempotencyKey: string | null;
}

export interface BeginUploads {
  readonly userId: string;
  readonly sessionId: string;
  readonly intents: readonly UploadIntent[];
  readonly leaseMs: number;
}

/**
 * `begun` means that all intents have their row, their bytes and a lease. Anything else means that none has: a
 * batch is refused as a whole, and whoever joined it tries its members one by one.
 */
export type BeginOutcome =
  | { readonly kind: 'begun' }
  /** The session was revoked or ran out, or the user may not act any more. */
  | { readonly kind: 'no-session' }
  | { readonly kind: 'no-room' }
  /** The idempotency key has an answer already. */
  | { readonly kind: 'answered'; readonly files: readonly StoredFileAnswer[] }
  /** Another request with the same idempotency key is under way. */
  | { readonly kind: 'in-progress' };

interface BeginRow {
  readonly session: boolean;
  readonly answered: StoredFileAnswer[] | null;
  readonly running: boolean;
  readonly begun: number;
}

const UNIQUE_VIOLATION = '23505';

/**
 * The first of an upload's two statements: checks the session, reserves the bytes and writes down the intent, for
 * all uploads of the batch or for none. Nothing may be written to the object store before it says `begun`.
 */
export async function beginUploads(
  db: Db,
  { userId, sessionId, intents, leaseMs }: BeginUploads,
): Promise<BeginOutcome> {
  const total = intents.reduce((sum, intent) => sum + intent.reserveBytes, 0);
  const ids = intents.map((intent) => intent.id);
  const bytes = intents.map((intent) => intent.reserveBytes);
  const keys = intents.map((intent) => intent.idempotencyKey);
  const usedKeys = keys.filter((key) => key !== null);
  try {
    const { rows } = await sql<BeginRow>`
      WITH session AS (
        SELECT s.id, s.last_activity_at FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE s.id = ${sessionId}::uuid AND s.user_id = ${userId}::uuid AND s.revoked_at IS NULL
          AND s.expires_at > now() AND s.idle_expires_at > now() AND u.state = 'active'
      ), touched AS (
        UPDATE sessions SET last_activity_at = now()
        WHERE id = (SELECT id FROM session WHERE last_activity_at < now() - interval '1 minute')
          AND last_activity_at < now() - interval '1 minute'
      ), answered AS (
        SELECT files FROM idempotency_keys
        WHERE user_id = ${userId}::uuid AND key = ANY(${usedKeys}::text[])
          AND created_at > now() - interval '24 hours'
        LIMIT 1
      ), running AS (
        SELECT id FROM uploads
        WHERE user_id = ${userId}::uuid AND state = 'open' AND idempotency_key = ANY(${usedKeys}::text[])
        LIMIT 1
      ), reserved AS (
        UPDATE quotas q SET reserved_bytes = q.reserved_bytes + ${total}::bigint
        WHERE q.user_id = ${userId}::uuid AND ${ROOM} >= ${total}::bigint
          AND EXISTS (SELECT FROM session) AND NOT EXISTS (SELECT FROM answered)
          AND NOT EXISTS (SELECT FROM running)
        RETURNING q.user_id
      ), begun AS (
        INSERT INTO uploads (id, user_id, reserved_bytes, lease_until, idempotency_key)
        SELECT i.id, reserved.user_id, i.bytes, now() + ${leaseMs}::float8 * interval '1 millisecond', i.key
        FROM reserved, unnest(${ids}::uuid[], ${bytes}::bigint[], ${keys}::text[]) AS i (id, bytes, key)
        RETURNING id
      )
      SELECT EXISTS (SELECT FROM session) AS session, (SELECT files FROM answered) AS answered,
        EXISTS (SELECT FROM running) AS running, (SELECT count(*)::int FROM begun) AS begun`.execute(db);
    return outcome(rows[0]);
  } catch (error) {
    // Two requests with the same key began in the same instant; the other one was first.
    if (isUniqueViolation(error)) return { kind: 'in-progress' };
    throw error;
  }
}

function outcome(row: BeginRow | undefined): BeginOutcome {
  if (row === undefined || !row.session) return { kind: 'no-session' };
  if (row.answered !== null) return { kind: 'answered', files: row.answered };
  if (row.running) return { kind: 'in-progress' };
  return row.begun > 0 ? { kind: 'begun' } : { kind: 'no-room' };
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
}
