import { createHash, randomUUIDv7 } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import {
  type DetectedType,
  detectType,
  SNIFF_BYTES,
  textTypeOf,
} from '@stowage/shared/images/detect-type.ts';
import { pictureFormatOf } from '@stowage/shared/images/picture-format.ts';
import { pictureSize, SIZE_HEAD_BYTES } from '@stowage/shared/images/picture-size.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { Reservation } from '@stowage/shared/uploads/reservation.ts';
import type { UploadedFile } from '@stowage/shared/uploads/uploaded-file.ts';
import { newStem } from './file-name.ts';
import { cleanOriginalName } from './original-name.ts';
import { createTextCheck, isRefusedTextName, type TextCheck } from './text-check.ts';

/** One part of a multipart body, while it arrives. */
export interface IncomingPart {
  readonly name: string;
  readonly fileName: string | undefined;
  /** To be read to its end or given up; the parts after it come only then. */
  readonly bytes: AsyncIterable<Buffer>;
}

export interface ReceivePartDeps {
  readonly objects: ObjectStore;
  readonly maxFileBytes: number;
  readonly allowedTypes: ReadonlySet<string>;
}

export interface PartTarget {
  readonly objectKey: string;
  readonly reservation: Reservation;
  readonly signal: AbortSignal;
  /** Called before the first byte may reach the object store. */
  readonly onWrite: () => void;
}

/**
 * Brings one part into the object store while it arrives, with its type, size and hash found on the way. Undefined
 * when the part is empty: nothing was written.
 * @throws {AppError} UNSUPPORTED_FILE_TYPE, FILE_TOO_LARGE, QUOTA_EXCEEDED, those of the body and of the store
 */
export async function receivePart(
  { objects, maxFileBytes, allowedTypes }: ReceivePartDeps,
  part: IncomingPart,
  { objectKey, reservation, signal, onWrite }: PartTarget,
): Promise<UploadedFile | undefined> {
  const chunks = part.bytes[Symbol.asyncIterator]();
  const head = await readHead(chunks);
  if (head.bytes.length === 0) return undefined;

  const originalName = cleanOriginalName(part.fileName);
  const detected = await detectType(head.bytes);
  const textCheck = detected === undefined ? createTextCheck() : undefined;
  const type = detected ?? textTypeOf(originalName);
  if (!allowedTypes.has(type.contentType) || (textCheck !== undefined && isRefusedTextName(originalName)))
    throw unsupported();

  const measure = createMeasure({ maxFileBytes, reservation, textCheck, type });
  async function* measured(): AsyncGenerator<Buffer> {
    await measure.take(head.bytes);
    yield head.bytes;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      await measure.take(next.value);
      yield next.value;
    }
    measure.end();
  }
  onWrite();
  if (head.isAll) {
    await measure.take(head.bytes);
    measure.end();
    await objects.put(objectKey, head.bytes, { contentType: type.contentType, signal });
  } else {
    await objects.put(objectKey, measured(), { contentType: type.contentType, signal });
  }

  const size = measure.pictureSize();
  return {
    id: randomUUIDv7(),
    stem: newStem(),
    extension: type.extension,
    objectKey,
    contentType: type.contentType,
    sizeBytes: measure.sizeBytes(),
    sha256: measure.sha256(),
    originalName,
    width: size?.width ?? null,
    height: size?.height ?? null,
    renderState: pictureFormatOf(type.contentType) === undefined ? 'none' : 'pending',
  };
}

/** Gathers the bytes by which the type is told. */
async function readHead(chunks: AsyncIterator<Buffer>): Promise<{ bytes: Buffer; isAll: boolean }> {
  const gathered: Buffer[] = [];
  let length = 0;
  while (length < SNIFF_BYTES) {
    const next = await chunks.next();
    if (next.done === true) return { bytes: joined(gathered), isAll: true };
    gathered.push(next.value);
    length += next.value.length;
  }
  return { bytes: joined(gathered), isAll: false };
}

interface MeasureOptions {
  readonly maxFileBytes: number;
  readonly reservation: Reservation;
  readonly textCheck: TextCheck | undefined;
  readonly type: DetectedType;
}

/** Counts, hashes and checks the bytes of a part in one pass. */
function createMeasure({ maxFileBytes, reservation, textCheck, type }: MeasureOptions) {
  const hash = createHash('sha256');
  const isPicture = type.contentType.startsWith('image/');
  const head: Buffer[] = [];
  let total = 0;
  return {
    async take(chunk: Buffer): Promise<void> {
      if (isPicture && total < SIZE_HEAD_BYTES) head.push(chunk);
      total += chunk.length;
      if (total > maxFileBytes) throw fileTooLarge(maxFileBytes);
      if (textCheck?.accepts(chunk) === false) throw unsupported();
      hash.update(chunk);
      await reservation.spend(chunk.length);
    },
    end(): void {
      if (textCheck?.isComplete() === false) throw unsupported();
    },
    sizeBytes: () => total,
    sha256: () => hash.digest('hex'),
    pictureSize: () => (isPicture ? pictureSize(type.contentType, joined(head)) : undefined),
  };
}

/** The chunks as one, without a copy when there is only one. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first, second] = chunks;
  return first !== undefined && second === undefined ? first : Buffer.concat(chunks);
}

export function fileTooLarge(maxFileBytes: number): AppError {
  return new AppError('FILE_TOO_LARGE', `A file has at most ${maxFileBytes} bytes.`, {
    details: { max_file_bytes: maxFileBytes },
  });
}

function unsupported(): AppError {
  return new AppError('UNSUPPORTED_FILE_TYPE', 'Files of this type are not stored.');
}
