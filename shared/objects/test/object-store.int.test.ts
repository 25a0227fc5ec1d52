import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import type { ListedObject, ObjectStore } from '../object-store.ts';
import { type ObjectStoreOptions, openObjectStore } from '../open-object-store.ts';
import { leftovers } from './leftovers.ts';

const MIB = 1024 * 1024;
const jpeg = { contentType: 'image/jpeg' };

const stores = objectStores().flatMap(({ name, options }): { name: string; options: ObjectStoreOptions }[] =>
  options.kind === 's3'
    ? [
        { name, options },
        { name: `${name} with checksums`, options: { ...options, checksums: 'when_supported' } },
      ]
    : [{ name, options }],
);

async function* inChunks(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) {
    await setImmediate();
    yield bytes.subarray(offset, offset + size);
  }
}

async function listed(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  for await (const object of store.list(prefix)) found.push(object);
  return found;
}

async function read(store: ObjectStore, key: string): Promise<Buffer> {
  return buffer((await store.get(key)).stream);
}

describe.each(stores)('the object store contract on $name', ({ options }) => {
  const store = openObjectStore(options);
  afterAll(() => store.close());
  const freshPrefix = (): string => `contract/${randomUUID()}/`;

  it.each([
    0,
    1,
    65_535,
    65_536,
    262_144,
    262_145,
    1_000_003,
    8 * MIB - 1,
    8 * MIB,
    8 * MIB + 1,
    16 * MIB,
    20 * MIB,
  ])('gives %i streamed bytes back as they were', async (size) => {
    const key = `${freshPrefix()}object`;
    const bytes = randomBytes(size);
    expect(await store.put(key, inChunks(bytes), jpeg)).toBe(size);
    expect(await store.head(key)).toBe(size);
    const body = await store.get(key);
    expect(body.length).toBe(size);
    expect(bytes.equals(await buffer(body.stream))).toBe(true);
  });

  it.each([0, 1, 300_000, 8 * MIB, 8 * MIB + 1])('stores %i bytes that are in memory', async (size) => {
    const key = `${freshPrefix()}object`;
    const bytes = randomBytes(size);
    expect(await store.put(key, new Uint8Array(bytes), jpeg)).toBe(size);
    expect(bytes.equals(await read(store, key))).toBe(true);
  });

  it('takes a Readable, chunks of any size, and empty chunks', async () => {
    const key = `${freshPrefix()}object`;
    const bytes = randomBytes(3 * MIB);
    const chunks = [
      bytes.subarray(0, 0),
      bytes.subarray(0, 1),
      bytes.subarray(1, 2 * MIB),
      bytes.subarray(0, 0),
      bytes.subarray(2 * MIB),
    ];
    expect(await store.put(key, Readable.from(chunks), jpeg)).toBe(bytes.length);
    expect(bytes.equals(await read(store, key))).toBe(true);
  });

  it('does not care what the caller does with a chunk once the next one is asked for', async () => {
    const key = `${freshPrefix()}object`;
    const reused = Buffer.alloc(65_536);
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let value = 0; value < 160; value += 1) yield reused.fill(value);
    }
    await store.put(key, body(), jpeg);
    const stored = await read(store, key);
    for (let value = 0; value < 160; value += 1) expect(stored[value * 65_536 + 17]).toBe(value);
  });

  it('puts the same key twice without harm', async () => {
    const key = `${freshPrefix()}object`;
    const bytes = randomBytes(1_000);
    await store.put(key, bytes, jpeg);
    await store.put(key, bytes, jpeg);
    expect(bytes.equals(await read(store, key))).toBe(true);
  });

  describe('ranges', () => {
    const key = `contract/${randomUUID()}/ranged`;
    const bytes = randomBytes(300_000);

    it.each([
      [0, 0],
      [0, 299_999],
      [1, 1],
      [299_999, 299_999],
      [65_535, 65_536],
      [100, 250_000],
      [299_990, 300_000],
      [299_990, 10_000_000],
    ])('gives bytes %i to %i', async (start, end) => {
      if ((await store.head(key)) === undefined) await store.put(key, bytes, jpeg);
      const expected = bytes.subarray(start, end + 1);
      const body = await store.get(key, { range: { start, end } });
      expect(body.length).toBe(expected.length);
      expect(expected.equals(await buffer(body.stream))).toBe(true);
    });

    it('refuses one that starts past the end', async () => {
      await store.put(key, bytes, jpeg);
      await expect(store.get(key, { range: { start: 300_000, end: 300_001 } })).rejects.toMatchObject({
        code: 'RANGE_NOT_SATISFIABLE',
      });
    });
  });

  it('says that a missing object is missing', async () => {
    const key = `${freshPrefix()}nothing`;
    await expect(store.get(key)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' });
    await expect(store.get(key, { range: { start: 0, end: 0 } })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    });
    expect(await store.head(key)).toBeUndefined();
  });

  it.each([
    ['before the first byte', 0],
    ['within the first part', 3 * MIB],
    ['within the third part', 20 * MIB],
  ])('leaves nothing when the put is aborted %s', async (_when, size) => {
    const prefix = freshPrefix();
    const abort = new AbortController();
    let stopped = false;
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield* inChunks(randomBytes(size));
        abort.abort(new Error('the client went away'));
        yield randomBytes(1);
        yield randomBytes(9 * MIB);
      } finally {
        stopped = true;
      }
    }
    await expect(store.put(`${prefix}object`, body(), { ...jpeg, signal: abort.signal })).rejects.toThrow(
      'the client went away',
    );
    await waitFor(async () => stopped || undefined);
    expect(await listed(store, prefix)).toEqual([]);
    expect(await leftovers(options, prefix)).toEqual([]);
  });

  it('ends a put at once when it is aborted while the body hangs', async () => {
    const prefix = freshPrefix();
    const abort = new AbortController();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield* inChunks(randomBytes(9 * MIB));
      setTimeout(() => abort.abort(new Error('the lease ended')), 10);
      await new Promise(() => undefined);
    }
    await expect(store.put(`${prefix}object`, body(), { ...jpeg, signal: abort.signal })).rejects.toThrow(
      'the lease ended',
    );
    expect(await listed(store, prefix)).toEqual([]);
    expect(await leftovers(options, prefix)).toEqual([]);
  });

  it('does not begin when the signal is aborted already', async () => {
    const key = `${freshPrefix()}object`;
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(store.put(key, randomBytes(10), { ...jpeg, signal })).rejects.toThrow('too late');
    await expect(store.get(key, { signal })).rejects.toThrow('too late');
    await expect(store.head(key, { signal })).rejects.toThrow('too late');
    await expect(store.check(signal)).rejects.toThrow('too late');
    expect(await store.head(key)).toBeUndefined();
  });

  it.each([
    ['at once', 0],
    ['within the first part', 3 * MIB],
    ['within the third part', 20 * MIB],
  ])('passes on an error of the body %s, and leaves nothing', async (_when, size) => {
    const prefix = freshPrefix();
    const fault = new Error('the body was cut short');
    async function* body(): AsyncGenerator<Uint8Array> {
      yield* inChunks(randomBytes(size));
      throw fault;
    }
    await expect(store.put(`${prefix}object`, body(), jpeg)).rejects.toBe(fault);
    expect(await listed(store, prefix)).toEqual([]);
    expect(await leftovers(options, prefix)).toEqual([]);
  });

  it('keeps the failure of a stream that nobody reads yet for whoever reads it', async () => {
    const key = `${freshPrefix()}object`;
    await store.put(key, randomBytes(2 * MIB), jpeg);
    const abort = new AbortController();
    const { stream } = await store.get(key, { signal: abort.signal });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    abort.abort(new Error('enough'));
    await closed;
    await expect(buffer(stream)).rejects.toThrow('enough');
  });

  it('ends the stream of a read with the reason of an abort', async () => {
    const key = `${freshPrefix()}object`;
    await store.put(key, randomBytes(9 * MIB), jpeg);
    const abort = new AbortController();
    const { stream } = await store.get(key, { signal: abort.signal });
    const reading = buffer(stream);
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  it('goes on after readers that went away', async () => {
    const key = `${freshPrefix()}object`;
    const bytes = randomBytes(9 * MIB);
    await store.put(key, bytes, jpeg);
    for (let index = 0; index < 50; index += 1) {
      const { stream } = await store.get(key);
      stream.destroy();
    }
    expect(bytes.equals(await read(store, key))).toBe(true);
  });

  it('removes objects, and does not mind unknown keys or a second time', async () => {
    const prefix = freshPrefix();
    const keys = Array.from({ length: 25 }, (_, index) => `${prefix}deep/${index}`);
    for (const key of keys) await store.put(key, randomBytes(10), jpeg);
    await store.delete([...keys.slice(0, 20), `${prefix}unknown`]);
    expect((await listed(store, prefix)).map(({ key }) => key).sort()).toEqual(keys.slice(20).sort());
    await store.delete(keys);
    await store.delete(keys);
    await store.delete([]);
    expect(await listed(store, prefix)).toEqual([]);
    await expect(store.get(keys[0]!)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' });
  });

  it('lists exactly what is under a prefix', async () => {
    const prefix = freshPrefix();
    const before = Date.now();
    for (const key of ['a/1', 'a/b/2', 'ab/3', 'a.b/4']) await store.put(prefix + key, randomBytes(7), jpeg);
    const found = await listed(store, `${prefix}a/`);
    expect(found.map(({ key }) => key).sort()).toEqual([`${prefix}a/1`, `${prefix}a/b/2`]);
    for (const { sizeBytes, modifiedAt } of found) {
      expect(sizeBytes).toBe(7);
      expect(Math.abs(modifiedAt.getTime() - before)).toBeLessThan(60_000);
    }
    expect(await listed(store, `${prefix}none/`)).toEqual([]);
  });

  it('gives an object another key, and a new time', async () => {
    const prefix = freshPrefix();
    const bytes = randomBytes(9 * MIB);
    await store.put(`${prefix}here/object`, inChunks(bytes), jpeg);
    await store.put(`${prefix}here/other`, randomBytes(1), jpeg);
    const [before] = await listed(store, `${prefix}here/`);
    await sleep(1_100); // S3 counts seconds
    await store.move(`${prefix}here/object`, `${prefix}there/deep/object`);
    expect(bytes.equals(await read(store, `${prefix}there/deep/object`))).toBe(true);
    expect((await listed(store, `${prefix}here/`)).map(({ key }) => key)).toEqual([`${prefix}here/other`]);
    const [moved] = await listed(store, `${prefix}there/`);
    expect(moved!.modifiedAt.getTime()).toBeGreaterThan(before!.modifiedAt.getTime());
    expect(await leftovers(options, prefix)).toEqual([]);
  });

  it('replaces what has the new key when it moves an object, and says when there is nothing to move', async () => {
    const prefix = freshPrefix();
    await store.put(`${prefix}a/1`, Buffer.from('one'), jpeg);
    await store.put(`${prefix}b/1`, Buffer.from('another'), jpeg);
    await store.move(`${prefix}a/1`, `${prefix}b/1`);
    expect((await read(store, `${prefix}b/1`)).toString()).toBe('one');
    await expect(store.move(`${prefix}a/1`, `${prefix}b/1`)).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    });
    expect((await read(store, `${prefix}b/1`)).toString()).toBe('one');
  });

  it('moves an object once when many try to at once', async () => {
    const prefix = freshPrefix();
    await store.put(`${prefix}a/1`, Buffer.from('one'), jpeg);
    const moves = Array.from({ length: 8 }, () =>
      store.move(`${prefix}a/1`, `${prefix}b/1`).then(
        () => 'moved',
        (error: { code?: string }) => error.code,
      ),
    );
    const outcomes = new Set(await Promise.all(moves));
    outcomes.delete('OBJECT_NOT_FOUND');
    expect([...outcomes]).toEqual(['moved']);
    expect((await read(store, `${prefix}b/1`)).toString()).toBe('one');
    expect(await store.head(`${prefix}a/1`)).toBeUndefined();
  });

  it('gives the sizes of those keys that exist, near to each other and far apart', async () => {
    const prefix = freshPrefix();
    const sizeOf = (n: number) => n % 5;
    const keys = Array.from({ length: 40 }, (_, n) => `${prefix}${String.fromCharCode(97 + (n % 7))}/${n}`);
    await Promise.all(keys.map((key, n) => store.put(key, randomBytes(sizeOf(n)), jpeg)));
    const expected = new Map(keys.map((key, n) => [key, sizeOf(n)]));
    const missing = [`${prefix}a`, `${prefix}a/0/1`, `${prefix}c/nothing`, `${prefix}h/0`];
    expect(await store.sizes([...missing, ...keys].toReversed())).toEqual(expected);
    expect(await store.sizes([keys[9]!])).toEqual(new Map([[keys[9], sizeOf(9)]]));
    expect(await store.sizes([keys[3]!, missing[3]!])).toEqual(new Map([[keys[3], sizeOf(3)]]));
    expect(await store.sizes([])).toEqual(new Map());
    expect(await store.sizes(missing)).toEqual(new Map());
  });

  it('lists more objects than fit in one answer of S3, each once', async () => {
    const prefix = freshPrefix();
    const keys = Array.from({ length: 1_005 }, (_, index) => `${prefix}${index}`);
    for (let from = 0; from < keys.length; from += 50) {
      await Promise.all(keys.slice(from, from + 50).map((key) => store.put(key, randomBytes(1), jpeg)));
    }
    expect((await listed(store, prefix)).map(({ key }) => key).sort()).toEqual([...keys].sort());
    expect((await store.sizes(keys)).size).toBe(keys.length);
    await store.delete(keys);
    expect(await listed(store, prefix)).toEqual([]);
  });

  it('neither lists nor gives an unfinished write, and drops it on demand', async () => {
    const prefix = freshPrefix();
    await store.put(`${prefix}a/done`, randomBytes(10), jpeg);
    const abort = new AbortController();
    let reached = (): void => undefined;
    const underWay = new Promise<void>((resolve) => {
      reached = resolve;
    });
    async function* body(): AsyncGenerator<Uint8Array> {
      yield* inChunks(randomBytes(20 * MIB));
      reached();
      await new Promise(() => undefined);
    }
    const put = store.put(`${prefix}a/unfinished`, body(), { ...jpeg, signal: abort.signal });
    const failed = expect(put).rejects.toThrow('over');
    await underWay;

    expect((await listed(store, prefix)).map(({ key }) => key)).toEqual([`${prefix}a/done`]);
    expect(await store.head(`${prefix}a/unfinished`)).toBeUndefined();
    expect(await leftovers(options, prefix)).toHaveLength(1);

    await store.dropUnfinished(`${prefix}ab/`);
    expect(await leftovers(options, prefix)).toHaveLength(1);
    await store.dropUnfinished(`${prefix}a/`);
    expect(await leftovers(options, prefix)).toEqual([]);
    expect(await store.head(`${prefix}a/done`)).toBe(10);
    await store.dropUnfinished(`${prefix}none/`);

    abort.abort(new Error('over'));
    await failed;
  });

  it('takes many puts, reads and removals at once', async () => {
    const prefix = freshPrefix();
    await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const key = `${prefix}shared/${index}`;
        const bytes = randomBytes(index % 6 === 0 ? 17 * MIB : 50_000 + index);
        await store.put(key, inChunks(bytes), jpeg);
        expect(bytes.equals(await read(store, key))).toBe(true);
        await store.delete([key]);
        expect(await store.head(key)).toBeUndefined();
      }),
    );
    expect(await listed(store, prefix)).toEqual([]);
    expect(await leftovers(options, prefix)).toEqual([]);
  });

  it.each(['', '../x', 'a/../../x', '/etc/passwd', 'a//b', 'a/', '.x', 'a\0b', 'a?b', 'é'])(
    'refuses the key %j everywhere',
    async (key) => {
      const refusal = { code: 'INTERNAL' };
      await expect(store.put(key, randomBytes(1), jpeg)).rejects.toMatchObject(refusal);
      await expect(store.get(key)).rejects.toMatchObject(refusal);
      await expect(store.head(key)).rejects.toMatchObject(refusal);
      await expect(store.delete([key])).rejects.toMatchObject(refusal);
      await expect(store.sizes([key])).rejects.toMatchObject(refusal);
      await expect(store.move(key, 'a')).rejects.toMatchObject(refusal);
      await expect(store.move('a', key)).rejects.toMatchObject(refusal);
      const prefix = key.endsWith('/') ? `/${key}` : key;
      await expect(listed(store, prefix)).rejects.toMatchObject(refusal);
      await expect(store.dropUnfinished(prefix)).rejects.toMatchObject(refusal);
    },
  );

  it('answers a readiness check and leaves nothing of it', async () => {
    await store.check(AbortSignal.timeout(10_000));
    if (options.kind === 'filesystem') expect(await leftovers(options, '')).toEqual([]);
  });
});
