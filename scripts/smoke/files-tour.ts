import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { json } from './accounts-tour.ts';
import { samplePictures } from './sample-pictures.ts';
import { needed, type StoredPicture, type Tour, type Visitor } from './tour.ts';

/** Uploads pictures, watches the quota, and reads them back in every way HTTP knows. */
export async function tourFiles(tour: Tour, visitor: Visitor | undefined): Promise<StoredPicture[]> {
  const { client } = tour;
  const stored: StoredPicture[] = [];

  for (const sample of await samplePictures()) {
    await tour.step(
      `upload ${sample.name}, and the quota moves by ${sample.bytes.length} bytes`,
      async () => {
        const { headers, id } = needed(visitor, 'login');
        const before = await quotaOf(tour, headers, id);
        const answer = await client.upload([sample], headers);
        const name = await answer.text();
        assert.equal(answer.status, 200, name);
        assert.match(name, new RegExp(`^[0-9a-hjkmnp-tv-z]{26}\\.${sample.extension}$`));
        assert.equal(await quotaOf(tour, headers, id), before + sample.bytes.length);
        stored.push({ ...sample, name, contentType: sample.type });
      },
    );
  }

  await tour.step('two files in one request, answered as JSON', async () => {
    const { headers } = needed(visitor, 'login');
    const files = ['one,two\n1,2\n', '# Notes\n'].map((text, index) => ({
      name: ['table.csv', 'notes.md'][index] ?? '',
      type: 'application/octet-stream',
      bytes: new Uint8Array(Buffer.from(text)),
    }));
    const answer = await client.upload(files, { ...headers, accept: 'application/json' });
    const list = (await json(answer, 200)) as unknown as { name: string; size: number; sha256: string }[]; // an array, or the next line fails
    assert.deepEqual(
      list.map(({ name }) => name.split('.')[1]),
      ['csv', 'md'],
    );
    assert.deepEqual(
      list.map(({ size }) => size),
      [12, 8],
    );
    assert.equal(list[0]?.sha256, createHash('sha256').update('one,two\n1,2\n').digest('hex'));
  });

  await tour.step('what is not allowed is refused: no token 401, no file 400, a program 415', async () => {
    const { headers } = needed(visitor, 'login');
    const text = { name: 'a.txt', type: 'text/plain', bytes: new Uint8Array(Buffer.from('hello')) };
    assert.equal((await client.upload([text], {})).status, 401);
    assert.equal((await json(await client.upload([], headers), 400)).code, 'NO_FILE');
    const program = {
      ...text,
      name: 'cat.jpg',
      bytes: new Uint8Array(Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0', 'latin1')),
    };
    assert.equal((await json(await client.upload([program], headers), 415)).code, 'UNSUPPORTED_FILE_TYPE');
  });

  await tour.step('read back byte for byte, by anybody', async () => {
    for (const picture of stored) {
      const answer = await client.get(`/${picture.name}`);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), picture.contentType);
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(picture.bytes), `${picture.name} differs`);
    }
  });

  await tour.step('HEAD, 304, ranges and 416', async () => {
    const picture = needed(stored[0], 'stored picture');
    const path = `/${picture.name}`;
    const head = await client.send('HEAD', path, undefined);
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), String(picture.bytes.length));
    const etag = head.headers.get('etag') ?? '';
    assert.match(etag, /^"[^"]+"$/);
    assert.equal((await client.get(path, { 'if-none-match': etag })).status, 304);
    const since = head.headers.get('last-modified') ?? '';
    assert.equal((await client.get(path, { 'if-modified-since': since })).status, 304);
    const part = await client.get(path, { range: 'bytes=100-299' });
    assert.equal(part.status, 206);
    assert.equal(part.headers.get('content-range'), `bytes 100-299/${picture.bytes.length}`);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(picture.bytes.subarray(100, 300)));
    assert.equal((await client.get(path, { range: `bytes=${picture.bytes.length}-` })).status, 416);
  });

  await tour.step('the own files are listed, newest first, page by page', async () => {
    const { headers } = needed(visitor, 'login');
    const names: string[] = [];
    let cursor: unknown = null;
    do {
      const after = cursor === null ? '' : `&cursor=${encodeURIComponent(String(cursor))}`;
      const page = await json(await client.get(`/files?limit=2${after}`, headers), 200);
      names.push(...(page.files as { name: string }[]).map(({ name }) => name)); // as R10 says; else the next line fails
      cursor = page.next_cursor;
    } while (cursor !== null && cursor !== undefined && names.length < 100);
    assert.equal(names.length, stored.length + 2);
    const order = stored.map(({ name }) => names.indexOf(name));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => b - a),
    );
  });
  return stored;
}

/** Removes one picture, and looks for it in vain. */
export async function tourDeletion(
  tour: Tour,
  visitor: Visitor | undefined,
  picture: StoredPicture | undefined,
): Promise<void> {
  const { client } = tour;
  await tour.step('delete a file: gone for readers, and its bytes come back', async () => {
    const { headers, id } = needed(visitor, 'login');
    const { name, bytes, width } = needed(picture, 'stored picture');
    const before = await quotaOf(tour, headers, id);
    assert.equal((await client.send('DELETE', `/${name}`, undefined)).status, 401);
    assert.equal((await client.send('DELETE', `/${name}`, undefined, headers)).status, 204);
    const [stem, extension] = name.split('.');
    for (const path of [`/${name}`, `/${stem}_64.${extension}`, `/${stem}_${width}.${extension}/webp`]) {
      assert.equal((await client.get(path)).status, 404, path);
    }
    await until(async () => (await quotaOf(tour, headers, id)) === before - bytes.length, 'the refund');
  });
}

export async function quotaOf(tour: Tour, headers: Record<string, string>, id: string): Promise<number> {
  const record = await json(await tour.client.get(`/quota?user_id=${id}`, headers), 200);
  assert.equal(record.user_id, id);
  return Number(record.current_quota);
}

/** Asks until the answer is yes, for twenty seconds. */
export async function until(ask: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
