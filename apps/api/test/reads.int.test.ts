import { buffer } from 'node:stream/consumers';
import { requestDeletion } from '@stowage/shared/deletions/request-deletion.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type FilesFixture, openFiles, type Uploader } from './files-fixture.ts';
import { openRaw } from './raw-client.ts';

describe.each(objectStores())('reading from the $name store', ({ options }) => {
  let files: FilesFixture;
  let user: Uploader;
  /** Below and above what is kept in memory. */
  let small: { name: string; bytes: Buffer };
  let large: { name: string; bytes: Buffer };
  const gets: string[] = [];
  let isAway = false;

  beforeAll(async () => {
    files = await openFiles({
      store: options,
      wrapStore: (store) =>
        new Proxy(store, {
          get: (target, name) => {
            const own: unknown = Reflect.get(target, name);
            if (name === 'get')
              return async (...args: Parameters<ObjectStore['get']>) => {
                gets.push(args[0]);
                if (isAway) throw new AppError('OBJECT_STORE_UNAVAILABLE', 'It does not answer.');
                return await target.get(...args);
              };
            return typeof own === 'function' ? own.bind(target) : own;
          },
        }),
    });
    user = await files.user();
    small = await store(Buffer.from('0123456789'.repeat(100)), 'digits.txt');
    large = await store(await makePicture({ width: 1_600, height: 1_200, format: 'png' }), 'Größe.png');
    expect(large.bytes.length).toBeGreaterThan(1_048_576);
  });
  afterAll(() => files?.close());

  async function store(bytes: Buffer, fileName: string) {
    return { name: await (await files.upload(user, [{ bytes, fileName }])).text(), bytes };
  }
  const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${files.url}/${path}`, { headers, method });
  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
  const codeOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { code: string }).code,
  ];

  it('gives the bytes with all that there is to say about them', async () => {
    for (const { name, bytes } of [small, large]) {
      const response = await read(name);
      expect(response.status).toBe(200);
      expect((await bytesOf(response)).equals(bytes)).toBe(true);
      expect(response.headers.get('accept-ranges')).toBe('bytes');
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      expect(response.headers.get('content-length')).toBe(String(bytes.length));
      expect(response.headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/);
      expect(Date.parse(response.headers.get('last-modified')!)).toBeGreaterThan(Date.now() - 60_000);
    }
    expect((await read(small.name)).headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect((await read(large.name)).headers.get('content-type')).toBe('image/png');
    expect((await read(large.name)).headers.get('content-disposition')).toBe(
      `inline; filename="Gr??e.png"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.png`,
    );
  });

  it('pays no attention to an Authorization header, not even a bad one', async () => {
    for (const authorization of ['Bearer garbage', 'nonsense'])
      expect((await read(small.name, { authorization })).status).toBe(200);
  });

  it('answers HEAD like GET, without bytes and without asking the store', async () => {
    for (const { name, bytes } of [small, large]) {
      const get = await read(name);
      await get.arrayBuffer();
      const asked = gets.length;
      const head = await read(name, { range: 'bytes=0-1' }, 'HEAD');
      expect(head.status).toBe(200);
      expect(await head.text()).toBe('');
      expect(head.headers.get('content-length')).toBe(String(bytes.length));
      const without = (headers: Headers) =>
        Object.fromEntries(
          [...headers].filter(([key]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(key)),
        );
      expect(without(head.headers)).toEqual(without(get.headers));
      expect(gets.length).toBe(asked);
    }
  });

  it('saves the reader what it has', async () => {
    const asked = gets.length;
    const { headers } = await read(large.name, {}, 'HEAD');
    const etag = headers.get('etag')!;
    const modified = headers.get('last-modified')!;
    for (const condition of [
      { 'if-none-match': etag },
      { 'if-none-match': `"other", W/${etag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': modified },
    ])
      for (const method of ['GET', 'HEAD']) {
        const response = await read(
          large.name,
          { ...condition, range: 'bytes=0-1' } as Record<string, string>,
          method,
        );
        expect(response.status).toBe(304);
        expect(response.headers.get('etag')).toBe(etag);
        expect(response.headers.get('content-length')).toBeNull();
        expect(await response.text()).toBe('');
      }
    expect(gets.length).toBe(asked);
    const changed = await read(small.name, { 'if-none-match': '"other"', 'if-modified-since': modified });
    expect(changed.status).toBe(200);
  });

  it('gives one range, of small and of large files', async () => {
    for (const { name, bytes } of [small, large]) {
      const size = bytes.length;
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 0],
        ['bytes=10-19', 10, 19],
        ['bytes=500-', 500, size - 1],
        ['bytes=-7', size - 7, size - 1],
        [`bytes=990-${size + 5}`, 990, size - 1],
      ] as const) {
        const response = await read(name, { range });
        expect(response.status).toBe(206);
        expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/${size}`);
        expect(response.headers.get('content-length')).toBe(String(end - start + 1));
        expect((await bytesOf(response)).equals(bytes.subarray(start, end + 1))).toBe(true);
      }
    }
  });

  it('gives the whole for several ranges, and for what is no range', async () => {
    for (const range of ['bytes=0-1,5-6', 'bytes=9-5', 'lines=1-2', 'nonsense']) {
      const response = await read(small.name, { range });
      expect(response.status).toBe(200);
      expect((await bytesOf(response)).length).toBe(small.bytes.length);
    }
  });

  it('refuses a range beyond the end', async () => {
    const response = await read(small.name, { range: 'bytes=1000-' });
    expect(response.headers.get('content-range')).toBe('bytes */1000');
    expect(await codeOf(response)).toEqual([416, 'RANGE_NOT_SATISFIABLE']);
  });

  it('gives a range only of the file that the reader means', async () => {
    const { headers } = await read(small.name, {}, 'HEAD');
    const range = 'bytes=0-9';
    for (const [condition, status] of [
      [headers.get('etag')!, 206],
      [headers.get('last-modified')!, 206],
      ['"other"', 200],
      [`W/${headers.get('etag')}`, 200],
      ['Fri, 01 Jan 2100 00:00:00 GMT', 200],
    ] as const)
      expect((await read(small.name, { range, 'if-range': condition })).status).toBe(status);
  });

  it('does not find what is not there', async () => {
    const [stem = ''] = large.name.split('.');
    for (const path of [
      `${stem}.jpg`,
      stem,
      `${stem}_abc.png`,
      `${stem}_-1.png`,
      `${'0'.repeat(26)}.png`,
      `${stem}.png/jpeg`,
      'favicon.ico',
      '..%2f..%2fetc%2fpasswd',
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      `${stem}.png%00.txt`,
      '%F0%9F%A6%84.png',
      'x'.repeat(900),
    ])
      expect(await codeOf(await read(path)), path).toEqual([404, expect.stringMatching(/NOT_FOUND/)]);
    expect(await codeOf(await read('x'.repeat(1_100)))).toEqual([414, 'URI_TOO_LONG']);
    expect(await codeOf(await read('%zz'))).toEqual([400, 'INVALID_REQUEST']);
  });

  it('refuses widths that no thumbnail has, and the overlay that is gone', async () => {
    const [stem = ''] = large.name.split('.');
    for (const path of [`${stem}_0.png`, `${stem}_4097.png`, `${stem}_0.png/webp`, `${'0'.repeat(26)}_0.png`])
      expect(await codeOf(await read(path)), path).toEqual([400, 'INVALID_WIDTH']);
    for (const path of [
      `${large.name}?s=text`,
      `${stem}_64.png?s=`,
      `${large.name}/webp?s=a&x=b`,
      'nothing?s',
    ])
      expect(await codeOf(await read(path)), path).toEqual([400, 'UNSUPPORTED_PARAMETER']);
    expect((await read(`${large.name}?v=2`)).status).toBe(200);
  });

  it('gives thumbnails with the same semantics', async () => {
    const [stem = ''] = large.name.split('.');
    for (const [path, format] of [
      [`${stem}_100.png`, 'png'],
      [`${stem}_100.png/webp`, 'webp'],
    ] as const) {
      const response = await read(path);
      expect(response.headers.get('content-type')).toBe(`image/${format}`);
      expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      const bytes = await bytesOf(response);
      expect(await sharp(bytes).metadata()).toMatchObject({ format, width: 100, height: 75 });
      const etag = response.headers.get('etag')!;
      expect((await read(path, { 'if-none-match': etag })).status).toBe(304);
      const part = await read(path, { range: 'bytes=1-5' });
      expect(part.status).toBe(206);
      expect((await bytesOf(part)).equals(bytes.subarray(1, 6))).toBe(true);
      const head = await read(path, {}, 'HEAD');
      expect(head.headers.get('content-length')).toBe(String(bytes.length));
    }
    const whole = await read(`${large.name}/webp`);
    expect(await sharp(await bytesOf(whole)).metadata()).toMatchObject({ format: 'webp', width: 1_600 });
  });

  it('refuses thumbnails of what is no picture', async () => {
    const [stem = ''] = small.name.split('.');
    for (const path of [`${stem}_64.txt`, `${stem}.txt/webp`])
      expect(await codeOf(await read(path))).toEqual([415, 'NOT_A_PICTURE']);
    const broken = await store(
      (await makePicture({ width: 400, height: 300, format: 'jpeg' })).subarray(0, 5_000),
      'b.jpg',
    );
    const [brokenStem = ''] = broken.name.split('.');
    expect(await codeOf(await read(`${brokenStem}_64.jpg`))).toEqual([415, 'PICTURE_UNREADABLE']);
    expect((await bytesOf(await read(broken.name))).equals(broken.bytes)).toBe(true);
  });

  it('asks the store once for a small file, however often it is read', async () => {
    const fresh = await store(Buffer.from('read often'), 'a.txt');
    const asked = gets.length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await read(fresh.name)).text()),
    );
    expect(new Set(answers)).toEqual(new Set(['read often']));
    expect(gets.length - asked).toBe(1);
  });

  it('ends at once for everybody when the file is deleted', async () => {
    const doomed = await store(Buffer.from('soon gone'), 'a.txt');
    expect((await read(doomed.name)).status).toBe(200);
    const [stem = ''] = doomed.name.split('.');
    const { id } = await files.db
      .selectFrom('files')
      .select('id')
      .where('stem', '=', stem)
      .executeTakeFirstOrThrow();
    await requestDeletion(files.db, { fileId: id, requestId: 'r' });
    await waitFor(async () => (await read(doomed.name)).status === 404);
    expect(await codeOf(await read(doomed.name))).toEqual([404, 'FILE_NOT_FOUND']);
  });

  it('lets go of the store when the reader goes away', async () => {
    const row = await files.db
      .selectFrom('files')
      .select('object_key')
      .where('stem', '=', large.name.split('.')[0]!)
      .executeTakeFirstOrThrow();
    const client = await openRaw(files.port);
    client.socket.pause();
    client.send(`GET /${large.name} HTTP/1.1\r\nhost: h\r\n\r\n`);
    await waitFor(() => gets.includes(row.object_key));
    client.close();
    // Nothing hangs: the next reader gets everything.
    expect((await bytesOf(await read(large.name))).length).toBe(large.bytes.length);
  });

  it('says that the store is away, never that the file is', async () => {
    const cached = await store(Buffer.from('in memory'), 'a.txt');
    await (await read(cached.name)).text();
    isAway = true;
    try {
      const response = await read(large.name);
      expect(response.headers.get('retry-after')).toBe('2');
      expect(await codeOf(response)).toEqual([503, 'OBJECT_STORE_UNAVAILABLE']);
      expect(await (await read(cached.name)).text()).toBe('in memory');
      expect((await read(large.name, {}, 'HEAD')).status).toBe(200);
    } finally {
      isAway = false;
    }
    expect(await buffer((await read(large.name)).body!)).toHaveLength(large.bytes.length);
  });
});
