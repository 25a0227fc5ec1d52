import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { ROOM } from './room.ts';

export interface TopUp {
  readonly uploadId: string;
  readonly userId: string;
  /** Most bytes to add to the reservation. */
  readonly stepBytes: number;
}

export type TopUpOutcome =
  | { readonly kind: 'granted'; readonly bytes: number }
  | { readonly kind: 'no-room' }
  | { readonly kind: 'lease-lost' };

/**
 * Adds to the reservation of a running upload whose length was not announced: min(step, room) bytes. There is no
 * room only when not a single byte is left, so that what fits exactly is taken.
 */
export async function topUpReservation(
  db: Db,
  { uploadId, userId, stepBytes }: TopUp,
): Promise<TopUpOutcome> {
  const { rows } = await sql<{ open: boolean; granted: number | null }>`
    WITH open AS (
      SELECT id FROM uploads
      WHERE id = ${uploadId}::uuid AND user_id = ${userId}::uuid AND state = 'open' FOR UPDATE
    ), granted AS (
      UPDATE quotas q SET reserved_bytes = q.reserved_bytes + least(${stepBytes}::bigint, ${ROOM})
      WHERE q.user_id = ${userId}::uuid AND ${ROOM} > 0 AND EXISTS (SELECT FROM open)
      RETURNING new.reserved_bytes - old.reserved_bytes AS bytes
    ), noted AS (
      UPDATE uploads u SET reserved_bytes = u.reserved_bytes + granted.bytes
      FROM granted WHERE u.id = ${uploadId}::uuid
    )
    SELECT EXISTS (SELECT FROM open) AS open, (SELECT bytes FROM granted) AS granted`.execute(db);
  const row = rows[0];
  if (row === undefined || !row.open) return { kind: 'lease-lost' };
  return row.granted === null ? { kind: 'no-room' } : { kind: 'granted', bytes: row.granted };
}
