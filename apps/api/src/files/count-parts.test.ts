import { describe, expect, it } from 'vitest';
import { countParts } from './count-parts.ts';

function partsOf(body: string, chunkBytes = body.length): number {
  const parts = countParts('boundary');
  for (let at = 0; at < body.length; at += chunkBytes)
    parts.take(Buffer.from(body.slice(at, at + chunkBytes), 'latin1'));
  return parts.count();
}

const part = (text: string) => `--boundary\r\ncontent-disposition: form-data; name="file"\r\n\r\n${text}\r\n`;

describe('the parts of a body', () => {
  it.each([
    ['none', '', 0],
    ['none but the end', '--boundary--\r\n', 0],
    ['one', `${part('text')}--boundary--`, 1],
    ['three', `${part('a')}${part('')}${part('\r\n--bound')}--boundary--\r\n`, 3],
    ['text before the first and after the last', `preamble\r\n${part('a')}--boundary--\r\n${part('b')}`, 1],
    ['one without headers', `--boundary\r\n${part('a')}--boundary--`, 2],
    ['one that is cut short', part('a'), 1],
    ['a delimiter with more behind it', `${part('a\r\n--boundary-x')}--boundary--`, 2],
    ['dashes that are none', 'x--boundary\r\n', 0],
  ])('%s', (_what, body, count) => {
    for (let chunkBytes = 1; chunkBytes <= body.length; chunkBytes += 1)
      expect(partsOf(body, chunkBytes), `${chunkBytes} bytes at once`).toBe(count);
  });
});
