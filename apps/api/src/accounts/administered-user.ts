import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { Caller } from '../http/authenticate.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The id of the user whom an administrator acts on. Who is none learns that before it is looked up whether the user
 * exists; an administrator cannot act on themselves, so that one always remains.
 * @throws {AppError} FORBIDDEN, USER_NOT_FOUND
 */
export function checkedTarget(caller: Caller, userId: string): string {
  const id = userId.toLowerCase();
  if (caller.role !== 'admin') throw new AppError('FORBIDDEN', 'Only an administrator may do this.');
  if (id === caller.userId)
    throw new AppError('FORBIDDEN', 'An administrator cannot suspend or delete themselves.');
  if (!UUID.test(id)) throw unknownUser();
  return id;
}

export function unknownUser(): AppError {
  const message = 'There is no such user.';
  return new AppError('USER_NOT_FOUND', message, {
    details: { errors: [{ field: 'userId', code: 'USER_NOT_FOUND', message }] },
  });
}
