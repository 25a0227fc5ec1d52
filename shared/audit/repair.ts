import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import { requeueDeletions } from '../deletions/requeue-deletions.ts';
import { AppError } from '../errors/app-error.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { requeuePostings } from '../quota/requeue-postings.ts';
import { queueRenders } from '../renders/queue-renders.ts';
import { sweepUploads } from '../uploads/sweep-uploads.ts';
import { balanceBooks } from './balance-books.ts';
import { quarantineObject } from './quarantine.ts';
import type { Remedy } from './remedy.ts';
import { restoreOriginal } from './restore-original.ts';

export interface RepairDeps {
  readonly db: Db;
  readonly store: ObjectStore;
  /** An object that no row knows of is moved once it is older than this, ms. */
  readonly orphanAgeMs: number;
  readonly secondPassMs: number;
  readonly signal: AbortSignal;
}

/** After the pictures of a user's first uploads, before those of a flood. */
const RENDER_PRIORITY = 1_000;
const JOBS_AT_ONCE = 1_000;

/**
 * Does what a remedy says, if that is still needed. Each may be repeated, and done by two at once. Returns whether
 * the fault is mended, or in the hands of a job that mends it.
 */
export async function repair(deps: RepairDeps, remedy: Remedy): Promise<boolean> {
  const { db, store, signal } = deps;
  switch (remedy.kind) {
    case 'balance-books':
      return await balanceBooks(db, remedy.userId);
    case 'restore-original':
      return await restoreOriginal(db, store, remedy.fileId, signal);
    case 'render':
      return await renderAgain(db, remedy.fileId);
    case 'forget-variant':
      return await forgetVariant(db, remedy.fileId, remedy.key);
    case 'quarantine':
      if (Date.now() - remedy.modifiedAt.getTime() < deps.orphanAgeMs) return false;
      return await quarantineOnce(deps, remedy.key);
    case 'publish-again':
      return await publishAgain(db, remedy.jobId);
    case 'sweep-uploads':
      await sweepUploads({ db, store, secondPassAfterMs: deps.secondPassMs }, signal);
      return true;
    case 'requeue-deletions':
      while ((await requeueDeletions(db, JOBS_AT_ONCE)) === JOBS_AT_ONCE) signal.throwIfAborted();
      return true;
    case 'requeue-postings':
      while ((await requeuePostings(db, JOBS_AT_ONCE)) === JOBS_AT_ONCE) signal.throwIfAborted();
      return true;
  }
}

async function renderAgain(db: Db, fileId: string): Promise<boolean> {
  await queueRenders(
    db,
    sql`SELECT f.id FROM files f WHERE f.id = ${fileId}::uuid AND NOT EXISTS (
      SELECT FROM outbox o
      WHERE o.name = 'render-thumbnails' AND o.failed_at IS NULL AND o.payload->>'fileId' = f.id::text)`,
    RENDER_PRIORITY,
  );
  return true;
}

async function forgetVariant(db: Db, fileId: string, key: string): Promise<boolean> {
  await sql`
    DELETE FROM variants v USING files f
    WHERE f.id = ${fileId}::uuid AND f.render_state = 'failed' AND v.file_id = f.id AND v.object_key = ${key}`.execute(
    db,
  );
  return true;
}

async function quarantineOnce({ db, store }: RepairDeps, key: string): Promise<boolean> {
  try {
    return await quarantineObject(db, store, key);
  } catch (error) {
    // Another audit was faster.
    if (error instanceof AppError && error.code === 'OBJECT_NOT_FOUND') return true;
    throw error;
  }
}

async function publishAgain(db: Db, jobId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    UPDATE outbox SET publish_after = now(), publishes = 0
    WHERE id = ${jobId}::uuid AND failed_at IS NULL`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}
