import { describe, expect, test } from 'vitest';
import { AppError } from '../errors/app-error.ts';
import { jobErrorOutcome } from './job-error-outcome.ts';

function withCode(code: string): Error {
  return Object.assign(new Error('from a driver'), { code });
}

describe('the outcome of a job', () => {
  test.each([
    ['a Postgres that shuts down', withCode('57P01')],
    ['a Postgres that starts', withCode('57P03')],
    ['no connection left', withCode('53300')],
    ['a full disk of the database', withCode('53100')],
    ['a read-only database', withCode('25006')],
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a host name that is not found', withCode('ENOTFOUND')],
    ['a pool without a free connection', new Error('timeout exceeded when trying to connect')],
    ['a lost connection', new Error('Connection terminated unexpectedly')],
    ['an object store that is away', new AppError('OBJECT_STORE_UNAVAILABLE', 'away')],
    ['a cause that is away', new Error('outer', { cause: withCode('ECONNRESET') })],
  ])('is to wait after %s', (_what, error) => {
    expect(jobErrorOutcome(error)).toBe('wait');
  });

  test.each([
    ['an unknown error', new TypeError('x is not a function')],
    ['a deadlock', withCode('40P01')],
    ['a broken constraint', withCode('23505')],
    ['a killed render', new AppError('RENDER_CRASHED', 'killed')],
    ['something that is no error', 'oops'],
  ])('is to retry after %s', (_what, error) => {
    expect(jobErrorOutcome(error)).toBe('retry');
  });

  test('is to fail at once when trying again cannot help', () => {
    expect(jobErrorOutcome(new AppError('PICTURE_UNREADABLE', 'broken'))).toBe('fail');
  });

  test('is decided by the outermost AppError, not by what it wraps', () => {
    const error = new AppError('PICTURE_UNREADABLE', 'broken', { cause: withCode('ECONNRESET') });
    expect(jobErrorOutcome(error)).toBe('fail');
  });
});
