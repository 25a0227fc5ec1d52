import { expect, test } from 'vitest';
import { parsePayload } from './parse-payload.ts';

const fileId = '0195f3a0-0000-7000-8000-000000000001';

test('a payload of the current version is taken as it is', () => {
  expect(parsePayload('render-thumbnails', { v: 1, fileId })).toEqual({ v: 1, fileId });
});

test.each([
  ['no object', 'render', '/'],
  ['a missing field', { v: 1 }, 'fileId'],
  ['an id that is no uuid', { v: 1, fileId: '../../etc/passwd' }, '/fileId'],
  ['another version', { v: 2, fileId }, '/v'],
  ['an unknown field', { v: 1, fileId, width: 64 }, ''],
])('a malformed payload is refused, and the message says where: %s', (_what, payload, where) => {
  expect(() => parsePayload('render-thumbnails', payload)).toThrow(
    expect.objectContaining({ code: 'JOB_MALFORMED', message: expect.stringContaining(where) }),
  );
});
