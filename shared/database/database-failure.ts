import { AppError } from '../errors/app-error.ts';

/** SQLSTATE classes of a Postgres that is away, restarting, or out of room or connections. */
const SERVER_AWAY = /^(08|53|57P|58|25006)/;

/** Errors of sockets and name resolution. */
const NETWORK_AWAY = /^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|EMFILE)/;

/** What the driver says without a code when it has lost its server. */
const DRIVER_LOST_SERVER =
  /^(Connection terminated|Connection is closed|Client has encountered a connection error|Client was closed)/;

/** Whether the statement failed because of the server or the way to it, and not because of what it says. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return SERVER_AWAY.test(code) || NETWORK_AWAY.test(code) || DRIVER_LOST_SERVER.test(error.message);
}

export function databaseUnavailable(cause: unknown): AppError {
  return new AppError('DATABASE_UNAVAILABLE', 'The database does not answer.', { cause });
}

/** Postgres answers, and more statements wait for their turn than it can do in time. */
export function databaseOverloaded(cause?: unknown): AppError {
  return new AppError('OVERLOADED', 'There is too much to do here just now. Try again soon.', { cause });
}
