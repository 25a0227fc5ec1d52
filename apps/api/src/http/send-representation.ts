import type { Readable } from 'node:stream';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ByteRange } from '@stowage/shared/objects/object-store.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseRange } from './byte-range.ts';
import { isNotModified, isRangeWanted, type Validators } from './conditional-requests.ts';

/** Bytes with all that HTTP says of them. */
export interface Representation extends Validators {
  readonly sizeBytes: number;
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
  /** Called only when bytes are to be sent. Undefined range: all of them. */
  readonly open: (range: ByteRange | undefined) => Promise<Uint8Array | Readable>;
}

/** What a stored file may do in a browser: nothing. */
const SANDBOX = "default-src 'none'; sandbox";

/**
 * Answers GET and HEAD for a representation: 304, 206, 416 or 200, by RFC 9110, 13.2.2.
 * @throws {AppError} RANGE_NOT_SATISFIABLE, and what opening the bytes throws
 */
export async function sendRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  representation: Representation,
): Promise<FastifyReply> {
  const { etag, lastModified, sizeBytes, contentType, contentDisposition, cacheControl } = representation;
  const isHead = request.method === 'HEAD';
  if (isNotModified(request.headers, representation)) {
    setHeaders();
    return reply.code(304).send();
  }

  const isAsked = !isHead && isRangeWanted(request.headers, representation);
  const range = isAsked ? parseRange(request.headers.range, sizeBytes) : 'whole';
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${sizeBytes}`).header('accept-ranges', 'bytes');
    throw new AppError('RANGE_NOT_SATISFIABLE', `The file has ${sizeBytes} bytes.`, {
      details: { size: sizeBytes },
    });
  }
  const part = range === 'whole' ? undefined : range;
  // Opened before any header is set: a failure is answered as a problem, not as a picture.
  const body = isHead ? undefined : await representation.open(part);
  setHeaders();
  reply.type(contentType).header('content-disposition', contentDisposition).header('accept-ranges', 'bytes');
  if (part !== undefined) {
    reply.code(206).header('content-range', `bytes ${part.start}-${part.end}/${sizeBytes}`);
    reply.header('content-length', part.end - part.start + 1);
  } else {
    reply.header('content-length', sizeBytes);
  }
  return reply.send(body);

  function setHeaders(): void {
    reply
      .header('etag', etag)
      .header('cache-control', cacheControl)
      .header('content-security-policy', SANDBOX);
    if (lastModified !== undefined) reply.header('last-modified', lastModified.toUTCString());
  }
}
