import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { faultsInBooks, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type FilesFixture, openFiles } from './files-fixture.ts';

const text = (size: number) => Buffer.alloc(size, 'a');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe.each(objectStores())('an upload to the $name store', ({ options }) => {
  let files: FilesFixture;
  beforeAll(async () => {
    files = await openFiles({ store: options, settings: { maxFileBytes: 20_000_000 } });
  });
  afterAll(() => files?.close());

  const objectsOf = async () => {
    const keys: string[] = [];
    for await (const { key } of files.objects.list('originals/')) keys.push(key);
    return keys;
  };
  const rowOf = (name: string) =>
    files.db
      .selectFrom('files')
      .selectAll()
      .where('stem', '=', name.split('.')[0]!)
      .executeTakeFirstOrThrow();

  it('is answered with its name, and reads back byte for byte', async () => {
    const user = await files.user();
    const bytes = await makePicture({ width: 300, height: 200, format: 'jpeg', orientation: 6 });
    const response = await files.upload(user, [{ bytes, fileName: 'holiday.png' }]);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const name = await response.text();
    expect(name).toMatch(/^[0-9a-hjkmnp-tv-z]{26}\.jpg$/);

    const read = await fetch(`${files.url}/${name}`);
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
    expect(await rowOf(name)).toMatchObject({
      user_id: user.id,
      content_type: 'image/jpeg',
      size_bytes: bytes.length,
      sha256: sha256(bytes),
      original_name: 'holiday.png',
      width: 200,
      height: 300,
      state: 'stored',
      render_state: 'pending',
    });
    expect(await readBooks(files.db, user.id)).toMatchObject({
      stored: bytes.length,
      reserved: 0,
      uploads: 0,
    });
    expect(await faultsInBooks(files.db, user.id)).toEqual([]);
  });

  it('keeps many bytes in order, at every boundary of chunks and parts', async () => {
    const user = await files.user();
    for (const size of [1, 65_535, 65_536, 65_537, 8_388_608, 12_345_678]) {
      const bytes = text(size);
      for (let at = 0; at < size; at += 1_000) bytes[at] = 0x30 + ((at / 1_000) % 10);
      const name = await (await files.upload(user, [{ bytes }])).text();
      const read = await fetch(`${files.url}/${name}`);
      expect(sha256(new Uint8Array(await read.arrayBuffer()))).toBe(sha256(bytes));
      expect(await rowOf(name)).toMatchObject({ size_bytes: size, sha256: sha256(bytes) });
    }
  });

  it('takes twenty files at once, and answers with a line for each in order', async () => {
    const user = await files.user();
    const sent = Array.from({ length: 20 }, (_, n) => ({ bytes: text(n + 1), fileName: `${n}.csv` }));
    const names = (await (await files.upload(user, sent)).text()).split('\n');
    expect(names).toHaveLength(20);
    for (const [n, name] of names.entries())
      expect(await rowOf(name)).toMatchObject({
        size_bytes: n + 1,
        original_name: `${n}.csv`,
        extension: 'csv',
      });
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 210, reserved: 0 });
  });

  it('skips empty files and other parts', async () => {
    const user = await files.user();
    const response = await files.upload(user, [
      { bytes: text(0), fileName: 'empty.txt' },
      { bytes: text(100), name: 'attachment' },
      { bytes: text(5) },
      { bytes: text(0) },
    ]);
    const name = await response.text();
    expect(name).not.toContain('\n');
    expect(await rowOf(name)).toMatchObject({ size_bytes: 5 });
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 5, reserved: 0 });
  });

  it('takes a part without a file name', async () => {
    const user = await files.user();
    const form = new FormData();
    form.append('file', 'just text');
    const response = await fetch(files.url, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${user.token}` },
    });
    expect(await rowOf(await response.text())).toMatchObject({ size_bytes: 9, original_name: null });
  });

  it('is answered as JSON to those who understand nothing else', async () => {
    const user = await files.user();
    const picture = await makePicture({ width: 30, height: 20, format: 'png' });
    const response = await files.upload(
      user,
      [{ bytes: picture }, { bytes: Buffer.from('{}'), fileName: 'a.json' }],
      { accept: 'application/json' },
    );
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual([
      {
        name: expect.stringMatching(/\.png$/),
        size: picture.length,
        content_type: 'image/png',
        width: 30,
        height: 20,
        sha256: sha256(picture),
      },
      {
        name: expect.stringMatching(/\.json$/),
        size: 2,
        content_type: 'application/json',
        width: null,
        height: null,
        sha256: sha256(Buffer.from('{}')),
      },
    ]);
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['a\u0000b.txt', 'ab.txt'],
    ['a\r\nb.txt', 'a%0D%0Ab.txt'],
    ['🦄🦄.txt', '🦄🦄.txt'],
    ['"quoted".txt', '%22quoted%22.txt'],
    [`${'x'.repeat(4_096)}.txt`, `${'x'.repeat(251)}.txt`],
  ])('named %j is stored under a safe name', async (fileName, kept) => {
    const user = await files.user();
    const response = await files.upload(user, [{ bytes: text(3), fileName }]);
    const name = await response.text();
    expect(name).toMatch(/^[0-9a-hjkmnp-tv-z]{26}\.txt$/);
    expect(await rowOf(name)).toMatchObject({ original_name: kept });
    const read = await fetch(`${files.url}/${name}`);
    expect(await read.text()).toBe('aaa');
    // FormData escapes quotes and line breaks before they are sent.
    expect(decodeURIComponent(read.headers.get('content-disposition')!)).toContain(kept.slice(0, 20));
  });

  it('queues its jobs, and asks for them to be published', async () => {
    const user = await files.user();
    const kicks = files.kicks();
    const picture = await makePicture({ width: 30, height: 20, format: 'png' });
    const response = await files.upload(user, [{ bytes: picture }, { bytes: text(1) }], {
      'x-request-id': 'request-of-a-test',
    });
    expect(response.headers.get('x-request-id')).toBe('request-of-a-test');
    const row = await rowOf((await response.text()).split('\n')[0]!);
    const jobs = await files.db
      .selectFrom('outbox')
      .select(['name', 'payload', 'request_id'])
      .where('request_id', '=', 'request-of-a-test')
      .orderBy('name')
      .execute();
    expect(jobs).toEqual([
      { name: 'post-usage', payload: { v: 1, userId: user.id }, request_id: 'request-of-a-test' },
      { name: 'render-thumbnails', payload: { v: 1, fileId: row.id }, request_id: 'request-of-a-test' },
    ]);
    expect(files.kicks()).toBe(kicks + 1);
  });

  it('happens once for one idempotency key, also when the answer was lost', async () => {
    const user = await files.user();
    const send = () => files.upload(user, [{ bytes: text(7) }], { 'idempotency-key': 'once' });
    const first = await (await send()).text();
    expect(await (await send()).text()).toBe(first);
    const json = await files.upload(user, [{ bytes: text(7) }], {
      'idempotency-key': 'once',
      accept: 'application/json',
    });
    expect(await json.json()).toMatchObject([{ name: first, size: 7 }]);
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 7, reserved: 0 });

    const other = await files.user();
    const theirs = await files.upload(other, [{ bytes: text(7) }], { 'idempotency-key': 'once' });
    expect(await theirs.text()).not.toBe(first);
  });

  it('leaves an object for each file, under the key that its row names', async () => {
    const user = await files.user();
    const names = (await (await files.upload(user, [{ bytes: text(3) }, { bytes: text(4) }])).text()).split(
      '\n',
    );
    const keys = await objectsOf();
    for (const name of names) {
      const row = await rowOf(name);
      expect(keys).toContain(row.object_key);
      const { stream } = await files.objects.get(row.object_key);
      expect(sha256(await buffer(stream))).toBe(row.sha256);
    }
  });

  it('fits to the byte, announced or not', async () => {
    for (const isAnnounced of [true, false]) {
      const user = await files.user({ maxBytes: 9_000_000 });
      const bytes = text(9_000_000);
      const response = isAnnounced
        ? await files.upload(user, [{ bytes }])
        : await files.uploadChunked(user, [{ bytes }]);
      expect(response.status).toBe(200);
      expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 9_000_000, reserved: 0 });
      expect((await files.upload(user, [{ bytes: text(1) }])).status).toBe(413);
    }
  });

  it('is one of exactly five when twenty come at once and there is room for five and a half', async () => {
    const user = await files.user({ maxBytes: 550_000 });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await files.upload(user, [{ bytes: text(100_000) }])).status),
    );
    expect(statuses.sort()).toEqual([...Array(5).fill(200), ...Array(15).fill(413)]);
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 500_000, reserved: 0, uploads: 0 });
    expect(await faultsInBooks(files.db, user.id)).toEqual([]);
  });
});
