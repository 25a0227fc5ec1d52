import type { ErrorCode } from '../errors/error-codes.ts';

/**
 * What becomes of a job that ends with an error:
 * - `wait`: something it depends on is away. It is tried until that is back, and never fails for good.
 * - `retry`: tried again with back-off; after the last attempt it fails for good.
 * - `fail`: trying again cannot help. It fails for good at once.
 */
export type JobErrorOutcome = 'wait' | 'retry' | 'fail';

/** One of the three places where error codes are mapped (the others: REST statuses, GraphQL outcomes). */
export const JOB_ERROR_OUTCOMES = {
  INVALID_REQUEST: 'fail',
  NO_FILE: 'fail',
  TOO_MANY_FILES: 'fail',
  MALFORMED_MULTIPART: 'fail',
  INVALID_WIDTH: 'fail',
  THUMBNAIL_TOO_LARGE: 'fail',
  UNSUPPORTED_PARAMETER: 'fail',
  NOT_ACCEPTABLE: 'fail',
  METHOD_NOT_ALLOWED: 'fail',
  ROUTE_NOT_FOUND: 'fail',
  REQUEST_TIMEOUT: 'retry',
  URI_TOO_LONG: 'fail',
  HEADERS_TOO_LARGE: 'fail',
  BODY_TOO_LARGE: 'fail',
  UNSUPPORTED_MEDIA_TYPE: 'fail',
  RANGE_NOT_SATISFIABLE: 'fail',
  CLIENT_GONE: 'retry',
  UNAUTHENTICATED: 'fail',
  FORBIDDEN: 'fail',
  EMAIL_NOT_VERIFIED: 'fail',
  EMAIL_TAKEN: 'fail',
  INVALID_VERIFICATION_TOKEN: 'fail',
  RATE_LIMITED: 'retry',
  FILE_NOT_FOUND: 'fail',
  USER_NOT_FOUND: 'fail',
  FILE_TOO_LARGE: 'fail',
  QUOTA_EXCEEDED: 'fail',
  UNSUPPORTED_FILE_TYPE: 'fail',
  NOT_A_PICTURE: 'fail',
  PICTURE_FORMAT_NOT_RENDERED: 'fail',
  PICTURE_UNREADABLE: 'fail',
  PICTURE_TOO_LARGE: 'fail',
  UPLOAD_LEASE_LOST: 'retry',
  IDEMPOTENT_REQUEST_IN_PROGRESS: 'retry',
  // The object may be on a volume that is not mounted, or a replica may be behind.
  OBJECT_NOT_FOUND: 'retry',
  OBJECT_STORE_WRITE_FAILED: 'wait',
  OBJECT_STORE_UNAVAILABLE: 'wait',
  DATABASE_UNAVAILABLE: 'wait',
  QUEUE_UNAVAILABLE: 'wait',
  // A mail server that is away and one that refuses this mail look alike: not for ever.
  MAIL_NOT_SENT: 'retry',
  RENDER_CRASHED: 'retry',
  RENDER_TIMED_OUT: 'retry',
  OVERLOADED: 'wait',
  SHUTTING_DOWN: 'wait',
  INTERNAL: 'retry',
  JOB_MALFORMED: 'fail',
} as const satisfies Record<ErrorCode, JobErrorOutcome>;
