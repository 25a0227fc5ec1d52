import { AppError } from '@stowage/shared/errors/app-error.ts';
import { expect, test } from 'vitest';
import { givesUp } from './gives-up.ts';

test('what the picture cannot help is given up at once', () => {
  for (const code of ['PICTURE_UNREADABLE', 'PICTURE_TOO_LARGE', 'PICTURE_FORMAT_NOT_RENDERED'] as const) {
    expect(givesUp(new AppError(code, 'no'), 1, false)).toMatchObject({ code });
  }
});

test('a picture that ends its process has three attempts', () => {
  for (const code of ['RENDER_CRASHED', 'RENDER_TIMED_OUT'] as const) {
    const error = new AppError(code, 'no');
    expect([1, 2, 3].map((attempts) => givesUp(error, attempts, false)?.code)).toEqual([
      undefined,
      undefined,
      code,
    ]);
  }
});

test('a service that is away never gives a picture up', () => {
  for (const code of ['OBJECT_STORE_UNAVAILABLE', 'DATABASE_UNAVAILABLE', 'SHUTTING_DOWN'] as const) {
    expect(givesUp(new AppError(code, 'no'), 9, true)).toBeUndefined();
  }
});

test('an error that nobody expected is given up with the last attempt of the queue', () => {
  expect(givesUp(new TypeError('x is not a function'), 9, false)).toBeUndefined();
  expect(givesUp(new TypeError('x is not a function'), 1, true)).toMatchObject({ code: 'INTERNAL' });
});
