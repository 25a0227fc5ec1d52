import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { requestDeletion } from '@stowage/shared/deletions/request-deletion.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';

/**
 * Every API process trusts its copy of a file's row for 250 ms. An answer that comes later than that after the
 * commit means gone, whichever process is asked next.
 */
const untilRowCopiesExpire = () => sleep(300);

export interface DeleteFileDeps {
  readonly db: Db;
  /** Publishes the job that was just committed. Nothing waits for it. */
  readonly relayKick: () => void;
  /** Told the stem after the commit: this process knew the file, and must not believe that any longer. */
  readonly forget?: (stem: string) => void;
  /** Waits, after the commit, until every process knows of the deletion. Default: 300 ms. */
  readonly settle?: () => Promise<unknown>;
}

export interface DeleteFile {
  readonly caller: { readonly userId: string; readonly role: 'user' | 'admin' };
  readonly stem: string;
  readonly extension: string;
  readonly requestId: string;
}

/**
 * Deletes a file for its owner or an administrator. When it resolves no process serves the file any more; its bytes
 * are removed, and then refunded, by the cleanup worker. `FILE_NOT_FOUND`; another user's: `FORBIDDEN`.
 */
export async function deleteFile(deps: DeleteFileDeps, request: DeleteFile): Promise<void> {
  const { caller, stem, extension, requestId } = request;
  const file = await deps.db
    .selectFrom('files')
    .select(['id', 'user_id'])
    .where('stem', '=', stem)
    .where('extension', '=', extension)
    .where('state', '=', 'stored')
    .executeTakeFirst();
  if (file === undefined) throw new AppError('FILE_NOT_FOUND', 'There is no such file.');
  if (file.user_id !== caller.userId && caller.role !== 'admin') {
    throw new AppError('FORBIDDEN', 'Only its owner or an administrator may delete a file.');
  }
  // Whoever else deletes it in this moment is the one who queues the job; the answer waits just as long.
  if (await requestDeletion(deps.db, { fileId: file.id, requestId })) deps.relayKick();
  deps.forget?.(stem);
  await (deps.settle ?? untilRowCopiesExpire)();
}
