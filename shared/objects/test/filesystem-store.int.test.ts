import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFilesystemStore } from '../filesystem/filesystem-store.ts';

const run = promisify(execFile);
const jpeg = { contentType: 'image/jpeg' };
const MARKER = '.stowage-objects';

describe('the filesystem adapter', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-test-folder-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const names = async (): Promise<string[]> =>
    (await readdir(folder, { recursive: true })).filter((name) => name !== MARKER).sort();

  it('makes its folder, for nobody else to read', async () => {
    const inner = join(folder, 'made', 'here');
    const store = openFilesystemStore({ folder: inner });
    await store.put('a/b', randomBytes(1), jpeg);
    const { stdout } = await run('find', [inner, '-printf', '%P %m\n']);
    expect(stdout.trim().split('\n').sort()).toEqual(['700', `${MARKER} 600`, 'a 700', 'a/b 600'].sort());
  });

  it('fails with OBJECT_STORE_WRITE_FAILED and removes its temporary file when the disk takes no more', async () => {
    const script = join(import.meta.dirname, 'put-and-report.ts');
    const limited = async (bytes: number): Promise<string> => {
      // The limit on the size of a file stands for a full disk: a write fails in the middle.
      const command = `ulimit -f 1024; exec "${process.execPath}" "${script}" "${folder}" ${bytes}`;
      return (await run('bash', ['-c', command])).stdout;
    };
    expect(await limited(5_000_000)).toBe('OBJECT_STORE_WRITE_FAILED');
    expect(await names()).toEqual(['a']);
    expect(await limited(500_000)).toBe('500000');
    expect(await names()).toEqual(['a', 'a/b', 'a/b/object']);
  });

  it.each(['gone', 'empty'] as const)(
    'takes nothing for missing, removed or stored while its folder is %s, as a volume that came off is',
    async (what) => {
      const volume = join(folder, 'volume');
      const store = openFilesystemStore({ folder: volume });
      await store.put('a/b', randomBytes(10), jpeg);
      await rename(volume, join(folder, 'elsewhere'));
      if (what === 'empty') await mkdir(volume);

      const unavailable = { code: 'OBJECT_STORE_UNAVAILABLE' };
      const failed = { code: 'OBJECT_STORE_WRITE_FAILED' };
      await expect(store.get('a/b')).rejects.toMatchObject(unavailable);
      await expect(store.head('a/b')).rejects.toMatchObject(unavailable);
      await expect(store.sizes(['a/b'])).rejects.toMatchObject(unavailable);
      await expect(store.list('a/')[Symbol.asyncIterator]().next()).rejects.toMatchObject(unavailable);
      await expect(store.check(AbortSignal.timeout(10_000))).rejects.toMatchObject(unavailable);
      await expect(store.delete(['a/b'])).rejects.toMatchObject(failed);
      await expect(store.put('a/c', randomBytes(10), jpeg)).rejects.toMatchObject(failed);
      await expect(store.move('a/b', 'a/d')).rejects.toMatchObject(failed);

      await rm(volume, { recursive: true, force: true });
      await rename(join(folder, 'elsewhere'), volume);
      expect(await store.head('a/b')).toBe(10);
      expect(await store.head('a/c')).toBeUndefined();
    },
  );

  it('keeps the object that is there when a second write of the key fails', async () => {
    const store = openFilesystemStore({ folder });
    const bytes = randomBytes(1_000);
    await store.put('a/b', bytes, jpeg);
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield randomBytes(10);
      throw new Error('cut');
    }
    await expect(store.put('a/b', broken(), jpeg)).rejects.toThrow('cut');
    expect(bytes.equals(await buffer((await store.get('a/b')).stream))).toBe(true);
  });

  it('takes the folders of removed objects away, but never a first level', async () => {
    const store = openFilesystemStore({ folder });
    await store.put('originals/one/0', randomBytes(1), jpeg);
    await store.put('originals/one/1', randomBytes(1), jpeg);
    await store.delete(['originals/one/0']);
    expect(await names()).toEqual(['originals', 'originals/one', 'originals/one/1']);
    await store.delete(['originals/one/1']);
    expect(await names()).toEqual(['originals']);
  });

  it('writes into a folder that removals keep taking away', async () => {
    const store = openFilesystemStore({ folder });
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let round = 0; round < 40; round += 1) {
          await store.put(`a/b/c/${writer}`, randomBytes(10), jpeg);
          expect(await store.head(`a/b/c/${writer}`)).toBe(10);
          await store.delete([`a/b/c/${writer}`]);
        }
      }),
    );
    expect(await names()).toEqual(['a']);
  });

  it('lists while objects come and go', async () => {
    const store = openFilesystemStore({ folder });
    // Folders that vanish, and files of one folder, whose names are read ahead.
    const key = (index: number): string => (index < 100 ? `a/${index}/0` : `a/flat/${index}`);
    const keys = Array.from({ length: 200 }, (_, index) => key(index));
    for (const each of keys) await store.put(each, randomBytes(1), jpeg);
    let seen = 0;
    for await (const object of store.list('a/')) {
      seen += 1;
      const others = keys.filter((each) => each !== object.key);
      keys.splice(0, keys.length, ...others.slice(2));
      await store.delete([object.key, ...others.slice(0, 2)]);
    }
    expect(seen).toBeGreaterThan(50);
    await store.delete(keys);
    expect(await names()).toEqual(['a']);
  });

  it('says that a folder, or what is below an object, is no object', async () => {
    const store = openFilesystemStore({ folder });
    await store.put('a/b', randomBytes(1), jpeg);
    for (const key of ['a', 'a/b/c']) {
      expect(await store.head(key)).toBeUndefined();
      await expect(store.get(key)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' });
      await store.delete([key]);
    }
    expect(await store.head('a/b')).toBe(1);
    await expect(store.put('a/b/c', randomBytes(1), jpeg)).rejects.toMatchObject({
      code: 'OBJECT_STORE_WRITE_FAILED',
    });
  });

  it('ends a read of a file that was cut meanwhile with an error', async () => {
    const store = openFilesystemStore({ folder });
    await store.put('a/b', randomBytes(1_000_000), jpeg);
    const { stream } = await store.get('a/b');
    await truncate(join(folder, 'a', 'b'), 500_000);
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' });
  });

  it('fails its readiness check when its folder is gone', async () => {
    const inner = join(folder, 'inner');
    const store = openFilesystemStore({ folder: inner });
    await store.check(AbortSignal.timeout(5_000));
    await rm(inner, { recursive: true });
    await writeFile(inner, 'in the way');
    await expect(store.check(AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'OBJECT_STORE_UNAVAILABLE',
    });
  });

  it('does not follow a link that somebody put in place of a folder when it lists', async () => {
    const store = openFilesystemStore({ folder: join(folder, 'store') });
    await mkdir(join(folder, 'elsewhere'));
    await writeFile(join(folder, 'elsewhere', 'secret'), 'x');
    await store.put('a/b', randomBytes(1), jpeg);
    await symlink(join(folder, 'elsewhere'), join(folder, 'store', 'a', 'link'));
    const keys: string[] = [];
    for await (const { key } of store.list('a/')) keys.push(key);
    expect(keys).toEqual(['a/b']);
  });

  it('takes a body with back-pressure: no chunk is asked for before the last is written', async () => {
    const store = openFilesystemStore({ folder });
    let open = 0;
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 20; index += 1) {
        open += 1;
        await setImmediate();
        expect(open).toBe(1);
        yield randomBytes(100_000);
        open -= 1;
      }
    }
    expect(await store.put('a/b', body(), jpeg)).toBe(2_000_000);
  });
});
