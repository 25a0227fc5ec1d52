import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { Job } from '@stowage/shared/queues/job.ts';
import { beginRender, undoAttempt } from '@stowage/shared/renders/begin-render.ts';

export type CountedJob = Pick<Job<'render-thumbnails'>, 'payload' | 'logger' | 'signal'>;

const UNDO_PATIENCE_MS = 30_000;
const UNDO_PAUSE_MS = 500;

/** An attempt counts only when the picture itself ended or hung its render process, or this process. */
export async function countAttempt<T>(
  db: Db,
  job: CountedJob,
  work: (begin: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let begun = false;
  try {
    return await work(async () => {
      await beginRender(db, job.payload.fileId);
      begun = true;
    });
  } catch (error) {
    const pictureDidIt =
      error instanceof AppError && (error.code === 'RENDER_CRASHED' || error.code === 'RENDER_TIMED_OUT');
    if (begun && !pictureDidIt) await undoPatiently(db, job);
    throw error;
  }
}

/** What made the attempt fail may be Postgres: without patience, three restarts of it would look like three crashes. */
async function undoPatiently(db: Db, { payload, signal, logger }: CountedJob): Promise<void> {
  const until = performance.now() + UNDO_PATIENCE_MS;
  for (;;) {
    try {
      return await undoAttempt(db, payload.fileId);
    } catch (error) {
      if (signal.aborted || performance.now() > until) {
        logger.warn(
          { err: error, fileId: payload.fileId },
          'an attempt counts that the picture did not spoil',
        );
        return;
      }
      await sleep(UNDO_PAUSE_MS);
    }
  }
}
