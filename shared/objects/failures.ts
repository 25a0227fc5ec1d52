import { AppError } from '../errors/app-error.ts';

export function unavailable(cause: unknown): AppError {
  return new AppError('OBJECT_STORE_UNAVAILABLE', 'The object store does not answer as it should.', {
    cause,
  });
}

export function objectNotFound(cause?: unknown): AppError {
  return new AppError('OBJECT_NOT_FOUND', 'There is no such object.', { cause });
}

export function rangeNotSatisfiable(): AppError {
  return new AppError('RANGE_NOT_SATISFIABLE', 'The range starts past the end of the object.');
}

export function writeFailed(cause: unknown): AppError {
  return new AppError('OBJECT_STORE_WRITE_FAILED', 'The object could not be stored or removed.', { cause });
}
