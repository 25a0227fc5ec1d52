import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { faultPoint } from '@stowage/shared/faults/fault-points.ts';
import { assertNotTooLarge } from '@stowage/shared/images/input-limit.ts';
import { pictureFormatOf } from '@stowage/shared/images/picture-format.ts';
import type { RenderPool } from '@stowage/shared/images/render-pool.ts';
import { configuredFormats, renderedSet } from '@stowage/shared/images/variant-settings.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import type { Job } from '@stowage/shared/queues/job.ts';
import { beginRender, undoAttempt } from '@stowage/shared/renders/begin-render.ts';
import { failRender } from '@stowage/shared/renders/fail-render.ts';
import {
  findPendingRender,
  MAX_RENDER_ATTEMPTS,
  type PendingRender,
} from '@stowage/shared/renders/find-pending-render.ts';
import { finishRender } from '@stowage/shared/renders/finish-render.ts';
import { failureText } from '@stowage/shared/renders/render-failure.ts';
import { givesUp } from './gives-up.ts';
import { VariantWriter } from './variant-writer.ts';

export interface RenderThumbnailsDeps {
  readonly db: Db;
  readonly store: Pick<ObjectStore, 'get' | 'put' | 'delete' | 'list'>;
  readonly pool: Pick<RenderPool, 'render'>;
  /** Widths in px that are rendered ahead. */
  readonly thumbnailWidths: readonly number[];
  readonly maxInputPixels: number;
}

export type RenderThumbnailsJob = Pick<
  Job<'render-thumbnails'>,
  'id' | 'payload' | 'lastAttempt' | 'logger' | 'signal'
>;

/**
 * Makes all variants of one picture and writes them to the store while further ones are being encoded. A picture
 * that cannot be rendered is given up with the reason on its row; one that ends or hangs its render process has
 * three attempts.
 */
export async function renderThumbnails(deps: RenderThumbnailsDeps, job: RenderThumbnailsJob): Promise<void> {
  const file = await findPendingRender(deps.db, job.payload.fileId);
  if (file === undefined) return await completeJob(deps.db, job.id);
  const writer = new VariantWriter(deps.store, file.id, job.signal);
  try {
    if (file.render_attempts >= MAX_RENDER_ATTEMPTS) throw attemptsUsedUp();
    await renderAndFinish(deps, job, file, writer);
  } catch (error) {
    await writer.settled();
    const reason = givesUp(error, file.render_attempts + 1, job.lastAttempt);
    if (job.signal.aborted || reason === undefined) throw error;
    job.logger.warn({ err: error, fileId: file.id }, 'the picture is given up');
    await failRender(deps.db, {
      jobId: job.id,
      fileId: file.id,
      reason: failureText(reason.code, reason.message),
    });
    await removeUnlessListed(deps, file.id, writer.keys);
  }
}

async function renderAndFinish(
  deps: RenderThumbnailsDeps,
  job: RenderThumbnailsJob,
  file: PendingRender,
  writer: VariantWriter,
): Promise<void> {
  const { db, store } = deps;
  const stored = pictureFormatOf(file.content_type);
  if (stored === undefined) {
    throw new AppError('PICTURE_FORMAT_NOT_RENDERED', `Thumbnails of ${file.content_type} are not made.`);
  }
  if (file.width !== null && file.height !== null) {
    assertNotTooLarge({ width: file.width, height: file.height }, deps.maxInputPixels);
  }
  const picture = await counted(db, file.id, (begin) =>
    deps.pool.render({
      request: { cause: 'ahead', widths: deps.thumbnailWidths, formats: configuredFormats(stored) },
      openSource: async () => {
        const source = await store.get(file.object_key, { signal: job.signal });
        try {
          await begin();
        } catch (error) {
          source.stream.destroy();
          throw error;
        }
        return source;
      },
      onVariant: (variant) => writer.write(variant),
      signal: job.signal,
    }),
  );
  const variants = await writer.written();
  await faultPoint('render.written');
  const outcome = await finishRender(db, {
    jobId: job.id,
    fileId: file.id,
    width: picture.width,
    height: picture.height,
    renderedSet: renderedSet(deps.thumbnailWidths),
    variants,
  });
  const unwanted = outcome.kind === 'gone' ? writer.keys : outcome.replacedKeys;
  if (unwanted.length === 0) return;
  // What is left when this fails goes with the file: its deletion removes everything under its prefix.
  await store.delete(unwanted).catch((error: unknown) => {
    job.logger.warn({ err: error, fileId: file.id }, 'replaced variants could not be removed');
  });
}

/** An attempt counts only when the picture itself ended or hung its render process, or this process. */
async function counted<T>(
  db: Db,
  fileId: string,
  work: (begin: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let begun = false;
  try {
    return await work(async () => {
      await beginRender(db, fileId);
      begun = true;
    });
  } catch (error) {
    const pictureDidIt =
      error instanceof AppError && (error.code === 'RENDER_CRASHED' || error.code === 'RENDER_TIMED_OUT');
    if (begun && !pictureDidIt) await undoAttempt(db, fileId);
    throw error;
  }
}

/**
 * Removes what was just written, and what earlier attempts left that ended with their process. A picture that had
 * variants before keeps them, and some of them may have the keys that were just written.
 */
async function removeUnlessListed(
  deps: RenderThumbnailsDeps,
  fileId: string,
  keys: readonly string[],
): Promise<void> {
  const written = new Set(keys);
  for await (const { key } of deps.store.list(`variants/${fileId}/`)) written.add(key);
  if (written.size === 0) return;
  const rows = await deps.db
    .selectFrom('variants')
    .select('object_key')
    .where('file_id', '=', fileId)
    .execute();
  const listed = new Set(rows.map((row) => row.object_key));
  await deps.store.delete([...written].filter((key) => !listed.has(key)));
}

function attemptsUsedUp(): AppError {
  return new AppError('RENDER_CRASHED', `The picture ended ${MAX_RENDER_ATTEMPTS} attempts to render it.`);
}
