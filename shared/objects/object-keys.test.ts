import { describe, expect, it } from 'vitest';
import { assertObjectKey, assertObjectPrefix } from './object-keys.ts';

const tricks = [
  '',
  '/',
  'a/',
  '/a',
  'a//b',
  '.',
  '..',
  '../a',
  'a/../b',
  'a/./b',
  '.hidden',
  'a/.unfinished-1',
  'a\\b',
  'a b',
  'a\0b',
  'a\n',
  'a\nb',
  'a%2fb',
  'a?b',
  'a#b',
  'ä',
  '💥',
  'a'.repeat(129),
  `${'a/'.repeat(300)}a`,
];

describe('object keys', () => {
  it.each(['a', 'originals/0197f0c2-1234-7890-abcd-0123456789ab/19', 'variants/x/64-webp-abc_DEF.1', 'a..b'])(
    'takes %s',
    (key) => {
      expect(() => assertObjectKey(key)).not.toThrow();
      expect(() => assertObjectPrefix(`${key}/`)).not.toThrow();
    },
  );

  it.each(tricks)('refuses the key %j', (key) => {
    expect(() => assertObjectKey(key)).toThrow('not an object key');
  });

  it.each(['', '/', 'a', 'a/b', '/a/', 'a//', '../', 'a/../', '.a/'])('refuses the prefix %j', (prefix) => {
    expect(() => assertObjectPrefix(prefix)).toThrow('not an object key prefix');
  });
});
