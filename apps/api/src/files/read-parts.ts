import type { Readable } from 'node:stream';
import type { MultipartFile } from '@fastify/multipart';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyRequest } from 'fastify';
import { countParts } from './count-parts.ts';
import { fileTooLarge, type IncomingPart } from './receive-part.ts';
import { boundaryOf } from './upload-request.ts';

export interface ReadPartsOptions {
  readonly request: FastifyRequest;
  /** Ends the reading with its reason, an AppError. */
  readonly signal: AbortSignal;
  readonly maxFileBytes: number;
  readonly maxBodyBytes: number;
}

/** Parts of all names together, and the length of a part that is no file. Nobody needs more. */
const LIMITS = { parts: 200, fields: 100, fieldSize: 64 * 1024, headerPairs: 50, headerSize: 16 * 1024 };

/**
 * The parts of a multipart body, one after the other, while they arrive.
 * @throws {AppError} MALFORMED_MULTIPART, CLIENT_GONE, FILE_TOO_LARGE for the whole body, and the signal's reason
 */
export async function* readParts(options: ReadPartsOptions): AsyncGenerator<IncomingPart> {
  const { request, maxFileBytes, maxBodyBytes } = options;
  const tooLarge = new AbortController();
  const signal = AbortSignal.any([options.signal, tooLarge.signal]);
  let readBytes = 0;
  let readableParts = 0;
  const parts = countParts(boundaryOf(request));
  const count = (chunk: Buffer) => {
    readBytes += chunk.length;
    if (readBytes > maxBodyBytes) tooLarge.abort(fileTooLarge(maxFileBytes));
    parts.take(chunk);
  };
  let current: Readable | undefined;
  let interrupt: ((reason: unknown) => void) | undefined;
  const onAbort = () => {
    // Also makes the parser let go of the request, so that its rest can be dropped. All reasons are AppErrors.
    current?.destroy(signal.reason as AppError);
    interrupt?.(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const iterator = request.parts({
    limits: { ...LIMITS, fileSize: Number.POSITIVE_INFINITY },
    // A part is a file by its name, whether or not the client gives it a file name or a type.
    isPartAFile: (name, _type, fileName) => {
      readableParts += 1;
      return name === 'file' || fileName !== undefined;
    },
  });
  request.raw.on('data', count);
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
        interrupt = reject;
        iterator.next().then(resolve, reject);
      });
      if (next.done === true) break;
      // Whatever the iterator gives is a part of one of the library's two kinds; fields have no stream.
      const part = next.value as MultipartFile | { file?: never };
      if (part.file === undefined) continue;
      current = part.file;
      yield { name: part.fieldname, fileName: part.filename, bytes: bytesOf(part.file, signal) };
    }
    // The parser passes over a part whose headers it cannot read; nobody may believe that it was stored.
    if (parts.count() !== readableParts)
      throw new AppError('MALFORMED_MULTIPART', 'A part of the body has headers that cannot be read.');
  } catch (error) {
    throw explain(error, request, signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    request.raw.off('data', count);
    current?.destroy();
  }

  async function* bytesOf(stream: Readable, stopped: AbortSignal): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of stream) yield chunk as Buffer; // busboy's file streams give Buffers
    } catch (error) {
      throw explain(error, request, stopped);
    }
  }
}

/** What the parser's errors mean for the client. */
function explain(error: unknown, request: FastifyRequest, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof AppError) return error;
  if (request.raw.destroyed && !request.raw.readableEnded)
    return new AppError('CLIENT_GONE', 'The client went away.', { cause: error });
  return new AppError('MALFORMED_MULTIPART', 'The body is not complete multipart/form-data.', {
    cause: error,
  });
}
