import { describe, expect, it } from 'vitest';
import type { ListedObject } from '../object-store.ts';
import { sizesByListing } from './sizes-by-listing.ts';

/** A bucket with objects `a/<5 digits>`, which counts what it is asked. */
function bucketOf(count: number) {
  const keys = Array.from({ length: count }, (_, n) => keyOf(n));
  const asked = { listed: 0, heads: 0 };
  async function* list(prefix: string, after: string): AsyncGenerator<ListedObject> {
    for (const key of keys) {
      if (!key.startsWith(prefix) || key <= after) continue;
      asked.listed += 1;
      yield { key, sizeBytes: 1, modifiedAt: new Date(0) };
    }
  }
  const head = async (key: string) => {
    asked.heads += 1;
    return keys.includes(key) ? 1 : undefined;
  };
  return { asked, source: { list, head } };
}

const keyOf = (n: number) => `a/${String(n).padStart(5, '0')}`;

describe('sizes by listing', () => {
  it('lists no more than the stretch in which the keys lie', async () => {
    const { asked, source } = bucketOf(50_000);
    const wanted = Array.from({ length: 1_000 }, (_, n) => keyOf(20_000 + n));
    expect((await sizesByListing(source, wanted)).size).toBe(1_000);
    expect(asked.heads).toBe(0);
    expect(asked.listed).toBeLessThanOrEqual(1_010);
  });

  it('asks for each when too much lies between the keys', async () => {
    const { asked, source } = bucketOf(50_000);
    const wanted = [keyOf(5), keyOf(10), keyOf(40_000), keyOf(49_999), 'a/99999'];
    expect([...(await sizesByListing(source, wanted)).keys()]).toEqual(wanted.slice(0, 4));
    expect(asked.heads).toBe(3);
    expect(asked.listed).toBe(1_000);
  });

  it('asks for a single key, and for keys without a common folder', async () => {
    const { asked, source } = bucketOf(10);
    expect((await sizesByListing(source, [keyOf(3)])).size).toBe(1);
    expect((await sizesByListing(source, [keyOf(3), 'b/1'])).size).toBe(1);
    expect(asked).toEqual({ listed: 0, heads: 3 });
  });
});
