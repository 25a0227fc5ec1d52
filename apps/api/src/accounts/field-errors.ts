import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ResponseCode } from './graphql-codes.ts';

/** What is wrong with one field of an input. */
export interface FieldError {
  readonly field: string;
  readonly code: ResponseCode;
  readonly message: string;
}

/** The refusal of an input, naming each bad field. */
export function invalidInput(errors: readonly FieldError[]): AppError {
  return new AppError('INVALID_REQUEST', errors.map((error) => error.message).join(' '), {
    details: { errors },
  });
}
