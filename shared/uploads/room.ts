import { type RawBuilder, sql } from 'kysely';

/**
 * Bytes that the quota row `q` can still admit. A negative adjustment gives nobody room; it may be negative itself
 * after the limit was lowered.
 */
export const ROOM: RawBuilder<number> = sql`(q.max_bytes - (q.stored_bytes + greatest(q.adjustment_bytes, 0) + q.reserved_bytes))`;
