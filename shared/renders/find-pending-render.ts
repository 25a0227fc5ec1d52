import type { Db } from '../database/open-database.ts';

/** Attempts in which a picture may end or hang its render process before it is given up. */
export const MAX_RENDER_ATTEMPTS = 3;

export interface PendingRender {
  readonly id: string;
  readonly object_key: string;
  readonly content_type: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly render_attempts: number;
}

/** The stored file whose render is pending; undefined when it is deleted, or was rendered or given up before. */
export async function findPendingRender(db: Db, fileId: string): Promise<PendingRender | undefined> {
  return await db
    .selectFrom('files')
    .select(['id', 'object_key', 'content_type', 'width', 'height', 'render_attempts'])
    .where('id', '=', fileId)
    .where('state', '=', 'stored')
    .where('render_state', '=', 'pending')
    .executeTakeFirst();
}
