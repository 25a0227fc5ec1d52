import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { RequestCaller } from '../http/require-caller.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The id of the user that a caller may act on: their own, or any for an administrator. Whoever may not is told so
 * before it is looked up whether the user exists: `FORBIDDEN`. An id that no user can have is `USER_NOT_FOUND`.
 */
export function actOn(caller: RequestCaller, userId: string): string {
  const id = userId.toLowerCase();
  if (id !== caller.userId && caller.role !== 'admin') {
    throw new AppError('FORBIDDEN', 'Only an administrator may act on the quota of another user.');
  }
  if (!UUID.test(id)) throw userNotFound();
  return id;
}

/** The administrators' answer for a user that is not there. */
export function userNotFound(): AppError {
  return new AppError('USER_NOT_FOUND', 'There is no such user.');
}
