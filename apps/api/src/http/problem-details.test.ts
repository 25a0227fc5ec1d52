import { AppError } from '@stowage/shared/errors/app-error.ts';
import { ERROR_CODES } from '@stowage/shared/errors/error-codes.ts';
import { describe, expect, it } from 'vitest';
import { toAppError } from './framework-errors.ts';
import { problemOf, STATUS_OF } from './problem-details.ts';

/** Those of the contract, and the few that decision R11 adds. */
const STATUSES = [400, 401, 404, 413, 415, 500, 403, 405, 406, 408, 414, 416, 429, 431, 503];

describe('problem details', () => {
  it('have only statuses that are documented', () => {
    for (const code of ERROR_CODES) expect(STATUSES).toContain(STATUS_OF[code]);
  });

  it('name the failure for people and for programs', () => {
    const error = new AppError('INVALID_REQUEST', 'user_id is required.', {
      details: { field: 'user_id', rule: 'is required' },
    });
    expect(problemOf(error, 'r-1')).toEqual({
      status: 400,
      headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
      body: {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: 'user_id is required.',
        code: 'INVALID_REQUEST',
        request_id: 'r-1',
        details: { field: 'user_id', rule: 'is required' },
      },
    });
  });

  it('say nothing about what went wrong here', () => {
    const cause = new Error('password of the database is hunter2');
    for (const error of [
      new AppError('DATABASE_UNAVAILABLE', 'secret', { details: { secret: 1 }, cause }),
      toAppError(cause),
    ]) {
      const { status, body } = problemOf(error, 'r');
      expect(status).toBe(500);
      expect(JSON.stringify(body)).not.toMatch(/secret|hunter2/);
    }
  });

  it('ask for a token, and for patience', () => {
    expect(problemOf(new AppError('UNAUTHENTICATED', ''), 'r').headers['www-authenticate']).toBe('Bearer');
    expect(problemOf(new AppError('OVERLOADED', ''), 'r').headers['retry-after']).toBe('2');
    const limited = new AppError('RATE_LIMITED', '', { details: { retry_after_seconds: 77 } });
    expect(problemOf(limited, 'r').headers['retry-after']).toBe('77');
  });
});
