import { AppError } from '../errors/app-error.ts';
import { JOB_ERROR_OUTCOMES, type JobErrorOutcome } from './job-error-outcomes.ts';

/** SQLSTATE classes of a Postgres that is away, restarting, or out of room or connections. */
const DATABASE_AWAY = /^(08|53|57P|58|25006)/;

/** Errors of sockets and name resolution. */
const NETWORK_AWAY = /^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|ENOSPC|EMFILE)/;

/** What the pg driver says without a code when it lost its server. */
const DRIVER_LOST_SERVER =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Connection is closed)/;

/** Decides what becomes of a job that ended with this error. Errors without a known code are retried. */
export function jobErrorOutcome(error: unknown): JobErrorOutcome {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof AppError) return JOB_ERROR_OUTCOMES[cause.code];
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (DATABASE_AWAY.test(code) || NETWORK_AWAY.test(code) || DRIVER_LOST_SERVER.test(cause.message))
      return 'wait';
  }
  return 'retry';
}
