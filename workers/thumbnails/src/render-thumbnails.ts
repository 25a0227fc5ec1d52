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
import { failRender } from '@stowage/shared/renders/fail-render.ts';
import {
  findPendingRender,
  MAX_RENDER_ATTEMPTS,
  type PendingRender,
} from '@stowage/shared/renders/find-pending-render.ts';
import { finishRender } from '@stowage/shared/renders/finish-render.ts';
import { failureText } from '@stowage/shared/renders/render-failure.ts';
import { countAttempt } from './count-attempt.ts';
import { givesUp } from './gives-up.ts';
import { removeOfDeleted, removeUnlessListed } from './remove-written.ts';
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
    if (job.signal.aborted || reason === undefined) {
      await removeOfDeleted(deps, job, file.id, writer.keys);
      throw error;
    }
    job.logger.warn({ err: error, fileId: file.id }, 'the picture is given up');
    // First, so that nothing stays behind when this process ends here: then the picture is given up once more.
    await removeUnlessListed(deps, file.id, writer.keys);
    await failRender(deps.db, {
      jobId: job.id,
      fileId: file.id,
      reason: failureText(reason.code, reason.message),
    });
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
  const outcome = await countAttempt(db, job, async (begin) => {
    const picture = await deps.pool.render({
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
    });
    const variants = await writer.written();
    await faultPoint('render.written');
    return await finishRender(db, {
      jobId: job.id,
      fileId: file.id,
      width: picture.width,
      height: picture.height,
      renderedSet: renderedSet(deps.thumbnailWidths),
      variants,
    });
  });
  const unwanted = outcome.kind === 'gone' ? writer.keys : outcome.replacedKeys;
  if (unwanted.length === 0) return;
  // What is left when this fails goes with the file: its deletion removes everything under its prefix.
  await store.delete(unwanted).catch((error: unknown) => {
    job.logger.warn({ err: error, fileId: file.id }, 'replaced variants could not be removed');
  });
}

function attemptsUsedUp(): AppError {
  return new AppError('RENDER_CRASHED', `The picture ended ${MAX_RENDER_ATTEMPTS} attempts to render it.`);
}
