/**
 * Every failure that Stowage names, as a stable word. The tables that map them (REST status, GraphQL outcome,
 * worker retry-or-fail) are checked against this list by the compiler.
 */
export const ERROR_CODES = [
  // The request is at fault.
  'INVALID_REQUEST',
  'NO_FILE',
  'TOO_MANY_FILES',
  'MALFORMED_MULTIPART',
  'INVALID_WIDTH',
  'THUMBNAIL_TOO_LARGE',
  'UNSUPPORTED_PARAMETER',
  'NOT_ACCEPTABLE',
  'METHOD_NOT_ALLOWED',
  'ROUTE_NOT_FOUND',
  'REQUEST_TIMEOUT',
  'URI_TOO_LONG',
  'HEADERS_TOO_LARGE',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RANGE_NOT_SATISFIABLE',
  'CLIENT_GONE',

  // Who is asking, and how often.
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'EMAIL_NOT_VERIFIED',
  'EMAIL_TAKEN',
  'INVALID_VERIFICATION_TOKEN',
  'RATE_LIMITED',

  // What is asked for is not there.
  'FILE_NOT_FOUND',
  'USER_NOT_FOUND',

  // Files and quotas.
  'FILE_TOO_LARGE',
  'QUOTA_EXCEEDED',
  'UNSUPPORTED_FILE_TYPE',
  'NOT_A_PICTURE',
  'PICTURE_FORMAT_NOT_RENDERED',
  'PICTURE_UNREADABLE',
  'PICTURE_TOO_LARGE',
  'UPLOAD_LEASE_LOST',
  'IDEMPOTENT_REQUEST_IN_PROGRESS',

  // A dependency or this process is at fault.
  'OBJECT_NOT_FOUND',
  'OBJECT_STORE_WRITE_FAILED',
  'OBJECT_STORE_UNAVAILABLE',
  'DATABASE_UNAVAILABLE',
  'QUEUE_UNAVAILABLE',
  'MAIL_NOT_SENT',
  'RENDER_CRASHED',
  'RENDER_TIMED_OUT',
  'OVERLOADED',
  'SHUTTING_DOWN',
  'INTERNAL',

  // Jobs.
  'JOB_MALFORMED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];
