import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';

interface Meaning {
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string;
  readonly rule?: string;
}

/** What Fastify and Node say about requests that did not get as far as our own code. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'BODY_TOO_LARGE', message: 'The body is too large.' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Bodies of this Content-Type are not understood here.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'INVALID_REQUEST',
    message: 'The body has not the length that was announced.',
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: {
    code: 'INVALID_REQUEST',
    message: 'body must be JSON.',
    field: 'body',
    rule: 'must be JSON',
  },
  FST_ERR_CTP_INVALID_JSON_BODY: {
    code: 'INVALID_REQUEST',
    message: 'body must be JSON.',
    field: 'body',
    rule: 'must be JSON',
  },
  FST_ERR_BAD_URL: { code: 'INVALID_REQUEST', message: 'The path is not encoded correctly.' },
  // A path out of the folder of the documentation's page.
  FST_STATIC_FORBIDDEN_PATH: { code: 'ROUTE_NOT_FOUND', message: 'There is nothing at this path.' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'URI_TOO_LONG', message: 'The path is too long.' },
  HPE_HEADER_OVERFLOW: { code: 'HEADERS_TOO_LARGE', message: 'The headers are too large.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 'BODY_TOO_LARGE', message: 'The chunk extensions are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'REQUEST_TIMEOUT', message: 'The request took too long to arrive.' },
};

/** Any error as one with a code of ours. One that nobody foresaw is INTERNAL, with the error as its cause. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const meaning = MEANINGS[codeOf(error)];
  if (meaning === undefined) return new AppError('INTERNAL', 'An unforeseen failure.', { cause: error });
  const { code, message, field, rule } = meaning;
  return new AppError(code, message, {
    cause: error,
    ...(field !== undefined && { details: { field, rule } }),
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
