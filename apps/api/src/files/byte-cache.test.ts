import { expect, test } from 'vitest';
import { ByteCache, type CachedBytes } from './byte-cache.ts';

const entry = (bytes: number): CachedBytes => ({
  bytes: new Uint8Array(bytes),
  contentType: 'image/png',
  etag: '"x"',
  provisional: false,
});

test('the least recently read entries leave when the bytes are used up', () => {
  const cache = new ByteCache({ maxBytes: 10_000, maxEntryBytes: 10_000 });
  cache.set('a', entry(3_000));
  cache.set('b', entry(3_000));
  cache.get('a');
  cache.set('c', entry(3_000));
  expect([cache.get('a'), cache.get('b'), cache.get('c')].map((found) => found !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
});

test('an entry above its bound is not kept, and drives nothing out', () => {
  const cache = new ByteCache({ maxBytes: 10_000, maxEntryBytes: 4_000 });
  cache.set('small', entry(1_000));
  cache.set('large', entry(5_000));
  expect(cache.get('large')).toBeUndefined();
  expect(cache.get('small')).toBeDefined();
});

test('a cache of no bytes keeps nothing', () => {
  const cache = new ByteCache({ maxBytes: 0 });
  cache.set('a', entry(1));
  expect(cache.get('a')).toBeUndefined();
});

test('an entry is known by the time its file was last seen', () => {
  let now = 1_000;
  const cache = new ByteCache({ maxBytes: 10_000, now: () => now });
  cache.set('a', entry(10));
  now = 2_000;
  expect(cache.getConfirmedWithin('a', 999)).toBeUndefined();
  expect(cache.getConfirmedWithin('a', 1_000)).toBeDefined();
  cache.confirm('a');
  now = 2_999;
  expect(cache.getConfirmedWithin('a', 999)).toBeDefined();
});
