import { describe, expect, it } from 'vitest';
import { readSchema, uploadSchema } from '../files/route-schemas.ts';
import { problems } from './problem-schema.ts';

describe('the problems of a route', () => {
  it('are the codes that it names, by status, and what any route may answer', () => {
    const described = problems('NO_FILE', 'QUOTA_EXCEEDED', 'FILE_TOO_LARGE');
    expect(Object.entries(described).map(([status, { description }]) => [status, description])).toEqual([
      ['400', 'Bad Request: NO_FILE.'],
      ['413', 'Payload Too Large: QUOTA_EXCEEDED, FILE_TOO_LARGE.'],
      ['431', 'Request Header Fields Too Large: HEADERS_TOO_LARGE.'],
      ['500', 'Internal Server Error: INTERNAL.'],
      ['503', 'Service Unavailable: OVERLOADED.'],
    ]);
  });

  it('do not hold those of other routes', () => {
    const read = JSON.stringify(readSchema.response);
    expect(read).toContain('INVALID_WIDTH');
    expect(read).not.toMatch(/NO_FILE|EMAIL_TAKEN|QUOTA_EXCEEDED|RATE_LIMITED|UNSUPPORTED_FILE_TYPE/);
    const upload = JSON.stringify(uploadSchema.response);
    expect(upload).toContain('NO_FILE');
    expect(upload).not.toMatch(/INVALID_WIDTH|EMAIL_TAKEN|PICTURE_|CLIENT_GONE|BODY_TOO_LARGE/);
  });
});
