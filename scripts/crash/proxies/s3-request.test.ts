import { expect, test } from 'vitest';
import { s3Operation } from './s3-request.ts';

test.each([
  ['PUT', '/bucket/originals/1/0', 'put'],
  ['PUT', '/bucket/originals/1/0?partNumber=2&uploadId=x', 'upload-part'],
  ['POST', '/bucket/originals/1/0?uploads=', 'create-multipart'],
  ['POST', '/bucket/originals/1/0?uploadId=x', 'complete-multipart'],
  ['DELETE', '/bucket/originals/1/0?uploadId=x', 'abort-multipart'],
  ['POST', '/bucket?delete=', 'delete'],
  ['GET', '/bucket/originals/1/0', 'get'],
  ['GET', '/bucket?list-type=2&prefix=originals%2F', 'list'],
  ['GET', '/bucket/?uploads=', 'list'],
  ['HEAD', '/bucket', 'head'],
] as const)('%s %s is %s', (method, path, operation) => {
  expect(s3Operation(method, path)).toBe(operation);
});
