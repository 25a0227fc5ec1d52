import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';
import type { FieldError } from './field-errors.ts';
import type { ResponseCode } from './graphql-codes.ts';

/** An `Error` of the schema. */
export interface OutcomeError {
  readonly field: string | null;
  readonly code: ResponseCode;
  readonly message: string;
}

/** What all response types of the schema have. */
export interface Outcome {
  readonly statusCode: number;
  readonly message: string;
  readonly errors: readonly OutcomeError[] | null;
}

/** Not an outcome: it becomes a GraphQL error. */
const RAISED = 'raised';

/** How a failure is told in a response: its statusCode. */
export const OUTCOMES = {
  INVALID_REQUEST: 400,
  INVALID_VERIFICATION_TOKEN: 400,
  USER_NOT_FOUND: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  EMAIL_NOT_VERIFIED: 403,
  EMAIL_TAKEN: 409,
  RATE_LIMITED: 429,
  OVERLOADED: 503,
  DATABASE_UNAVAILABLE: RAISED,
  SHUTTING_DOWN: RAISED,
  INTERNAL: RAISED,
  // What no operation on accounts throws.
  NO_FILE: RAISED,
  TOO_MANY_FILES: RAISED,
  MALFORMED_MULTIPART: RAISED,
  INVALID_WIDTH: RAISED,
  THUMBNAIL_TOO_LARGE: RAISED,
  UNSUPPORTED_PARAMETER: RAISED,
  NOT_ACCEPTABLE: RAISED,
  METHOD_NOT_ALLOWED: RAISED,
  ROUTE_NOT_FOUND: RAISED,
  REQUEST_TIMEOUT: RAISED,
  URI_TOO_LONG: RAISED,
  HEADERS_TOO_LARGE: RAISED,
  BODY_TOO_LARGE: RAISED,
  UNSUPPORTED_MEDIA_TYPE: RAISED,
  RANGE_NOT_SATISFIABLE: RAISED,
  CLIENT_GONE: RAISED,
  FILE_NOT_FOUND: RAISED,
  FILE_TOO_LARGE: RAISED,
  QUOTA_EXCEEDED: RAISED,
  UNSUPPORTED_FILE_TYPE: RAISED,
  NOT_A_PICTURE: RAISED,
  PICTURE_FORMAT_NOT_RENDERED: RAISED,
  PICTURE_UNREADABLE: RAISED,
  PICTURE_TOO_LARGE: RAISED,
  UPLOAD_LEASE_LOST: RAISED,
  IDEMPOTENT_REQUEST_IN_PROGRESS: RAISED,
  OBJECT_NOT_FOUND: RAISED,
  OBJECT_STORE_WRITE_FAILED: RAISED,
  OBJECT_STORE_UNAVAILABLE: RAISED,
  QUEUE_UNAVAILABLE: RAISED,
  MAIL_NOT_SENT: RAISED,
  RENDER_CRASHED: RAISED,
  RENDER_TIMED_OUT: RAISED,
  JOB_MALFORMED: RAISED,
} as const satisfies Record<ErrorCode, number | typeof RAISED>;

/** A success. */
export function succeeded(message: string, statusCode: 200 | 201 = 200): Outcome {
  return { statusCode, message, errors: null };
}

/**
 * The response that tells of a failure.
 * @throws what is not an outcome: the caller's fault in asking GraphQL, or ours
 */
export function failed(error: unknown): Outcome {
  if (!(error instanceof AppError)) throw error;
  const statusCode = OUTCOMES[error.code];
  if (statusCode === RAISED) throw error;
  const fieldErrors = fieldErrorsOf(error);
  return {
    statusCode,
    message: error.message,
    errors: fieldErrors ?? [{ field: null, code: error.code, message: error.message }],
  };
}

function fieldErrorsOf(error: AppError): readonly FieldError[] | undefined {
  const { errors } = error.details;
  // Only `invalidInput` and its like put `errors` into the details, and they put field errors there.
  return Array.isArray(errors) ? (errors as FieldError[]) : undefined;
}

/** Seconds that a refused caller should wait, if it is told. */
export function retryAfter(error: unknown): number | undefined {
  if (!(error instanceof AppError)) return undefined;
  if (error.code === 'OVERLOADED') return 1;
  const seconds = error.details.retry_after_seconds;
  return typeof seconds === 'number' ? seconds : undefined;
}
