import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@stowage/shared/database/open-database.ts';
import type { StoredFileAnswer } from '@stowage/shared/database/schema.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { faultPoint } from '@stowage/shared/faults/fault-points.ts';
import { withDeadline } from '@stowage/shared/queues/with-deadline.ts';
import { abandonUpload } from '@stowage/shared/uploads/abandon-upload.ts';
import type { FinishedUpload } from '@stowage/shared/uploads/finish-upload.ts';
import { isUploadFinished } from '@stowage/shared/uploads/is-upload-finished.ts';
import type { LeaseKeeper } from '@stowage/shared/uploads/lease-keeper.ts';
import { MOST_FILES_PER_UPLOAD, originalKey } from '@stowage/shared/uploads/original-keys.ts';
import {
  createReservation,
  firstReservation,
  leaseLost,
  quotaExceeded,
  type Reservation,
} from '@stowage/shared/uploads/reservation.ts';
import type { UploadBatcher } from '@stowage/shared/uploads/upload-batcher.ts';
import { answerOf, type UploadedFile } from '@stowage/shared/uploads/uploaded-file.ts';
import { type IncomingPart, type ReceivePartDeps, receivePart } from './receive-part.ts';

export interface ReceiveUploadDeps extends ReceivePartDeps {
  readonly db: Db;
  readonly batcher: UploadBatcher;
  readonly leases: LeaseKeeper;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
  /** Told of failures that do not change the answer. */
  readonly onError: (error: unknown) => void;
}

export interface IncomingUpload {
  readonly userId: string;
  readonly sessionId: string;
  /** Content-Length; undefined when the body's length is not announced. */
  readonly announcedBytes: number | undefined;
  readonly idempotencyKey: string | null;
  readonly requestId: string;
  /** Starts to read the body. Called once, and only when the upload is admitted. */
  readonly openParts: (signal: AbortSignal) => AsyncIterable<IncomingPart>;
  /** Aborted, with an AppError, when the body will not come to its end. */
  readonly signal: AbortSignal;
}

const PART_NAME = 'file';

/** How long after *finish* was sent Postgres is asked whether it was done, when its reply is lost: 5 s are promised. */
const SETTLE_MS = 4_750;
const SETTLE_PAUSE_MS = 250;

/**
 * Stores the files of one request, all or none: begin, bring each part into the object store, finish.
 * @throws {AppError} UNAUTHENTICATED, QUOTA_EXCEEDED, NO_FILE, TOO_MANY_FILES, UPLOAD_LEASE_LOST,
 *   IDEMPOTENT_REQUEST_IN_PROGRESS, and those of `receivePart`
 */
export async function receiveUpload(
  deps: ReceiveUploadDeps,
  upload: IncomingUpload,
): Promise<readonly StoredFileAnswer[]> {
  const id = randomUUIDv7();
  const askedAt = performance.now();
  const earlier = await begin(deps, upload, id);
  if (earlier !== undefined) return earlier;

  const lost = new AbortController();
  const release = deps.leases.keep(id, askedAt, () => lost.abort(leaseLost()));
  try {
    const finished = {
      id,
      files: await receiveParts(deps, upload, id, AbortSignal.any([upload.signal, lost.signal])),
      idempotencyKey: upload.idempotencyKey,
      requestId: upload.requestId,
    };
    await faultPoint('upload.written');
    await finish(deps, upload.userId, finished);
    await faultPoint('upload.finished');
    deps.relayKick();
    return finished.files.map(answerOf);
  } finally {
    release();
  }
}

/** The files of an earlier request with the same idempotency key, or undefined when this one may go on. */
async function begin(deps: ReceiveUploadDeps, upload: IncomingUpload, id: string) {
  const { userId, sessionId, idempotencyKey } = upload;
  const reserveBytes = firstReservation(upload.announcedBytes);
  const outcome = await deps.batcher.begin({
    userId,
    sessionId,
    intent: { id, reserveBytes, idempotencyKey },
  });
  switch (outcome.kind) {
    case 'begun':
      return undefined;
    case 'answered':
      return outcome.files;
    case 'no-session':
      throw new AppError('UNAUTHENTICATED', 'The session has ended. Log in again.');
    case 'no-room':
      throw quotaExceeded();
    case 'in-progress':
      throw new AppError(
        'IDEMPOTENT_REQUEST_IN_PROGRESS',
        'A request with this Idempotency-Key is under way.',
      );
  }
}

async function receiveParts(
  deps: ReceiveUploadDeps,
  upload: IncomingUpload,
  id: string,
  signal: AbortSignal,
): Promise<UploadedFile[]> {
  const { db } = deps;
  const { userId, announcedBytes } = upload;
  let wroteObjects = false;
  const onWrite = () => {
    wroteObjects = true;
  };
  try {
    const reservation: Reservation = createReservation({ db, uploadId: id, userId, announcedBytes });
    const files: UploadedFile[] = [];
    let position = 0;
    for await (const part of upload.openParts(signal)) {
      if (part.name !== PART_NAME) {
        await drain(part);
        continue;
      }
      if (position === MOST_FILES_PER_UPLOAD)
        throw new AppError('TOO_MANY_FILES', `A request has at most ${MOST_FILES_PER_UPLOAD} files.`, {
          details: { max_files: MOST_FILES_PER_UPLOAD },
        });
      const objectKey = originalKey(id, position);
      position += 1;
      const file = await receivePart(deps, part, { objectKey, reservation, signal, onWrite });
      if (file !== undefined) files.push(file);
    }
    if (files.length === 0)
      throw new AppError('NO_FILE', 'There is no file in the request, or only empty ones.');
    signal.throwIfAborted();
    return files;
  } catch (error) {
    await abandonUpload(db, { id, userId, wroteObjects }).catch(deps.onError);
    throw error;
  }
}

async function drain(part: IncomingPart): Promise<void> {
  const chunks = part.bytes[Symbol.asyncIterator]();
  while ((await chunks.next()).done !== true);
}

/** From here on nothing is taken back: once sent, *finish* may be committed whatever comes back. */
async function finish(deps: ReceiveUploadDeps, userId: string, upload: FinishedUpload): Promise<void> {
  const sentAt = performance.now();
  const outcome = await deps.batcher.finish({ userId, upload }).catch(async (error: unknown) => {
    if (await settle(deps, upload, sentAt + SETTLE_MS)) return 'finished' as const;
    throw error;
  });
  if (outcome === 'finished') return;
  // Postgres has said that nothing was changed: the reservation may be given back, and what was written, maybe after
  // a sweep that had taken this upload for dead, is to be removed.
  await abandonUpload(deps.db, { id: upload.id, userId, wroteObjects: true }).catch(deps.onError);
  throw outcome === 'lease-lost' ? leaseLost() : quotaExceeded();
}

/** False also when Postgres did not tell in time. */
async function settle(
  { db, onError }: ReceiveUploadDeps,
  upload: FinishedUpload,
  until: number,
): Promise<boolean> {
  for (let left = until - performance.now(); left > 0; left = until - performance.now()) {
    try {
      return await withDeadline(isUploadFinished(db, upload), AbortSignal.timeout(Math.ceil(left)));
    } catch (error) {
      onError(error);
      await sleep(SETTLE_PAUSE_MS);
    }
  }
  return false;
}
