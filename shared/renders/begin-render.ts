import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

/**
 * Counts an attempt. It is committed before a byte is decoded: a picture that takes the whole process with it has
 * been counted.
 */
export async function beginRender(db: Db, fileId: string): Promise<void> {
  await count(db, fileId, 1);
}

/** Takes an attempt back that ended for a reason which is not the picture's. */
export async function undoAttempt(db: Db, fileId: string): Promise<void> {
  await count(db, fileId, -1);
}

async function count(db: Db, fileId: string, by: 1 | -1): Promise<void> {
  await db
    .updateTable('files')
    .set({ render_attempts: sql<number>`greatest(render_attempts + ${by}, 0)` })
    .where('id', '=', fileId)
    .where('render_state', '=', 'pending')
    .execute();
}
