import { describe, expect, it } from 'vitest';
import { contentDisposition } from './content-disposition.ts';

describe('Content-Disposition', () => {
  it.each(['image/jpeg', 'video/mp4', 'audio/mpeg', 'text/plain'])('shows %s', (type) => {
    expect(contentDisposition(type, 'a.x')).toBe('inline; filename=a.x');
  });

  it.each(['application/pdf', 'application/zip', 'application/json', 'text/csv', 'text/markdown'])(
    'saves %s',
    (type) => {
      expect(contentDisposition(type, 'a.x')).toBe('attachment; filename=a.x');
    },
  );

  it('has a fallback beside a name that is not ASCII', () => {
    expect(contentDisposition('image/png', 'Ä🦄.png')).toBe(
      `inline; filename="???.png"; filename*=UTF-8''%C3%84%F0%9F%A6%84.png`,
    );
  });

  it('cannot be broken out of', () => {
    for (const name of ['a"; filename=b.exe', 'a\\"b', 'a;b', "a'b", 'a%22b'])
      expect(contentDisposition('image/png', name)).toMatch(
        /^inline; filename=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\\r\n]|\\.)*")(?:; filename\*=utf-8''[\w.%!~*()-]+)?$/i,
      );
  });
});
