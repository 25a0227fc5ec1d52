import { describe, expect, it } from 'vitest';
import { wantsJson } from './upload-request.ts';

describe('the answer to an upload', () => {
  it.each([
    'application/json',
    'application/json;q=0.5',
    'application/json, text/plain;q=0',
    'text/html, Application/JSON',
  ])('is JSON for Accept: %s', (accept) => {
    expect(wantsJson(accept)).toBe(true);
  });

  it.each([
    undefined,
    '*/*',
    'application/json, text/plain, */*',
    'application/json, text/plain;q=0.1',
    'application/json, text/*',
    'application/json;q=0',
    'text/plain',
    'image/png',
    '',
  ])('is text for Accept: %s', (accept) => {
    expect(wantsJson(accept)).toBe(false);
  });
});
