import type { ErrorCode } from './error-codes.ts';

export interface AppErrorOptions {
  /** Facts that are safe to show to the caller (field names, limits). Never secrets, never the cause's text. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** What led here. It is logged, and never shown to a caller. */
  readonly cause?: unknown;
}

/**
 * A failure with a stable code. It knows no HTTP, no GraphQL and no BullMQ: each of them maps the code by a table
 * of its own. The message is for people and is shown to the caller.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? {};
  }
}
