import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyRequest } from 'fastify';

/** Bytes of a request beside those of its files: boundaries and part headers. */
export const FRAMING_BYTES = 64 * 1024;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Content-Length as a number of bytes; undefined when the length is not announced. */
export function announcedBytes(request: FastifyRequest): number | undefined {
  const length = request.headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/**
 * What separates the parts of a multipart body.
 * @throws {AppError} NO_FILE when the body cannot hold files, MALFORMED_MULTIPART when nothing separates its parts
 */
export function boundaryOf(request: FastifyRequest): string {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(contentType))
    throw new AppError('NO_FILE', 'Send the file as the part "file" of multipart/form-data.');
  const [, quoted, bare] = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw new AppError('MALFORMED_MULTIPART', 'The Content-Type has no boundary.');
  return boundary;
}

/** @throws {AppError} INVALID_REQUEST when there is one that is not 1 to 255 visible ASCII characters */
export function idempotencyKeyOf(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key;
  const rule = 'must be 1 to 255 visible ASCII characters';
  throw new AppError('INVALID_REQUEST', `Idempotency-Key ${rule}.`, {
    details: { field: 'Idempotency-Key', rule },
  });
}

/**
 * Whether a client wants the stored files as JSON: only when `Accept` admits `application/json` and neither
 * `text/plain` nor a wildcard.
 */
export function wantsJson(accept: string | undefined): boolean {
  const admitted = (accept ?? '*/*')
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter)))
    .map(([type = '']) => type);
  const isPlain = (type: string) => type === 'text/plain' || type.includes('*');
  return admitted.includes('application/json') && !admitted.some(isPlain);
}
