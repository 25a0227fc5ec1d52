import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { originalKeys, originalsPrefix } from './original-keys.ts';

export interface SweepUploadsDeps {
  readonly db: Db;
  readonly store: Pick<ObjectStore, 'delete' | 'dropUnfinished'>;
  /** How long after the first removal the second follows, for writes that arrive late. Default 90 s. */
  readonly secondPassAfterMs?: number;
  /** Uploads that are claimed, or whose objects are removed, at once. Default 20. */
  readonly batchSize?: number;
}

export interface SweptUploads {
  /** Uploads that were found dead; their reservations are free. */
  readonly claimed: number;
  /** Uploads whose objects were removed for the first time. */
  readonly removed: number;
  /** Uploads whose objects were removed again, and whose rows are gone. */
  readonly forgotten: number;
}

/**
 * Clears away after uploads that were given up, or whose process died and let the lease run out. Each is marked
 * first, which frees its reservation and bars a late finish; then its objects are removed; then, after a while, once
 * more, because a write that was under way may have arrived in between. Only then does its row go.
 */
export async function sweepUploads(deps: SweepUploadsDeps, signal?: AbortSignal): Promise<SweptUploads> {
  const { db, store, secondPassAfterMs = 90_000, batchSize = 20 } = deps;
  // All reservations first: they must come free even while the object store is away.
  const claimed = await inBatches(batchSize, signal, () => claimDead(db, batchSize));

  const removed = await inBatches(batchSize, signal, async () => {
    const ids = await uploadsToRemove(db, batchSize);
    await removeObjects(store, ids);
    if (ids.length > 0) {
      await db
        .updateTable('uploads')
        .set({ swept_at: sql`now()` })
        .where('id', 'in', ids)
        .where('swept_at', 'is', null)
        .execute();
    }
    return ids.length;
  });

  const forgotten = await inBatches(batchSize, signal, async () => {
    const ids = await uploadsToForget(db, batchSize, secondPassAfterMs);
    await removeObjects(store, ids);
    // A process that woke in this moment, and may have written, asks for another sweep by taking `swept_at` back.
    if (ids.length > 0)
      await db
        .deleteFrom('uploads')
        .where('id', 'in', ids)
        .where('state', '=', 'sweeping')
        .where('swept_at', 'is not', null)
        .execute();
    return ids.length;
  });
  return { claimed, removed, forgotten };
}

/** Repeats a step until it finds less than a batch, and returns how many it found in all. */
async function inBatches(
  batchSize: number,
  signal: AbortSignal | undefined,
  step: () => Promise<number>,
): Promise<number> {
  let total = 0;
  let found = batchSize;
  while (found === batchSize && signal?.aborted !== true) {
    found = await step();
    total += found;
  }
  return total;
}

/** Marks dead uploads and frees what they had reserved, in one statement: a finish comes before it or never. */
async function claimDead(db: Db, limit: number): Promise<number> {
  const { rows } = await sql<{ claimed: number }>`
    WITH dead AS (
      SELECT id, user_id, reserved_bytes FROM uploads
      WHERE state = 'abandoned' OR (state = 'open' AND lease_until < now())
      ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), marked AS (
      UPDATE uploads AS u SET state = 'sweeping', reserved_bytes = 0
      FROM dead WHERE u.id = dead.id
    ), freed AS (
      UPDATE quotas AS q SET reserved_bytes = q.reserved_bytes - dead.bytes
      FROM (SELECT user_id, sum(reserved_bytes)::bigint AS bytes FROM dead GROUP BY user_id) AS dead
      WHERE q.user_id = dead.user_id AND dead.bytes > 0
    )
    SELECT count(*)::int AS claimed FROM dead`.execute(db);
  return rows[0]?.claimed ?? 0;
}

async function uploadsToRemove(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('uploads')
    .select('id')
    .where('state', '=', 'sweeping')
    .where('swept_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

async function uploadsToForget(db: Db, limit: number, afterMs: number): Promise<string[]> {
  const rows = await db
    .selectFrom('uploads')
    .select('id')
    .where('state', '=', 'sweeping')
    .where('swept_at', '<=', sql<Date>`now() - ${afterMs}::float8 * interval '1 millisecond'`)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Unfinished writes go first: one that ends in this moment is then an object, and removed as one. */
async function removeObjects(store: SweepUploadsDeps['store'], ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(ids.map((id) => store.dropUnfinished(originalsPrefix(id))));
  await store.delete(ids.flatMap(originalKeys));
}
