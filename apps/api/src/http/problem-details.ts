import { STATUS_CODES } from 'node:http';
import type { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';

/** The REST status of every failure. The codes and their meaning are listed in the README. */
export const STATUS_OF = {
  INVALID_REQUEST: 400,
  NO_FILE: 400,
  TOO_MANY_FILES: 400,
  MALFORMED_MULTIPART: 400,
  INVALID_WIDTH: 400,
  THUMBNAIL_TOO_LARGE: 400,
  UNSUPPORTED_PARAMETER: 400,
  NOT_ACCEPTABLE: 406,
  METHOD_NOT_ALLOWED: 405,
  ROUTE_NOT_FOUND: 404,
  REQUEST_TIMEOUT: 408,
  URI_TOO_LONG: 414,
  HEADERS_TOO_LARGE: 431,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  // Nobody is left to read it; it is what the log says.
  CLIENT_GONE: 400,

  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  EMAIL_NOT_VERIFIED: 403,
  // These two are outcomes of GraphQL operations; no REST operation has them.
  EMAIL_TAKEN: 400,
  INVALID_VERIFICATION_TOKEN: 400,
  RATE_LIMITED: 429,

  FILE_NOT_FOUND: 404,
  USER_NOT_FOUND: 404,

  FILE_TOO_LARGE: 413,
  QUOTA_EXCEEDED: 413,
  UNSUPPORTED_FILE_TYPE: 415,
  NOT_A_PICTURE: 415,
  PICTURE_FORMAT_NOT_RENDERED: 415,
  PICTURE_UNREADABLE: 415,
  PICTURE_TOO_LARGE: 415,
  UPLOAD_LEASE_LOST: 503,
  IDEMPOTENT_REQUEST_IN_PROGRESS: 503,

  // The row is there and the bytes are not: that is a fault of ours, not "no such file".
  OBJECT_NOT_FOUND: 500,
  OBJECT_STORE_WRITE_FAILED: 500,
  OBJECT_STORE_UNAVAILABLE: 503,
  DATABASE_UNAVAILABLE: 500,
  QUEUE_UNAVAILABLE: 500,
  MAIL_NOT_SENT: 500,
  RENDER_CRASHED: 500,
  RENDER_TIMED_OUT: 503,
  OVERLOADED: 503,
  SHUTTING_DOWN: 503,
  INTERNAL: 500,

  JOB_MALFORMED: 500,
} as const satisfies Record<ErrorCode, number>;

export const PROBLEM_TYPE = 'application/problem+json';

/** An error body of RFC 9457. */
export interface ProblemDetails {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly request_id: string;
  /** Facts about this failure: the field at fault, a limit. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ProblemDetails;
}

const RETRY_AFTER_SECONDS = 2;

/** The answer to a failure. Of what is our fault it says only that it is. */
export function problemOf(error: AppError, requestId: string): Problem {
  const status = STATUS_OF[error.code];
  const isOurs = status === 500;
  const hasDetails = !isOurs && Object.keys(error.details).length > 0;
  return {
    status,
    headers: headersOf(status, error),
    body: {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? 'Error',
      status,
      detail: isOurs ? 'Something went wrong here. It is not the fault of your request.' : error.message,
      code: error.code,
      request_id: requestId,
      ...(hasDetails && { details: error.details }),
    },
  };
}

function headersOf(status: number, error: AppError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store' };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (status === 429 || status === 503) {
    const { retry_after_seconds: seconds = RETRY_AFTER_SECONDS } = error.details;
    headers['retry-after'] = String(seconds);
  }
  return headers;
}
