import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type FilesFixture, openFiles, type Uploader } from './files-fixture.ts';
import { openRaw, type RawClient, type RawUpload, uploadBody, uploadHead } from './raw-client.ts';

const MAX_FILE_BYTES = 20_000_000;
const EXPECT = 'expect: 100-continue';

describe.each(objectStores())('over a bare connection, with the $name store', ({ options }) => {
  let files: FilesFixture;
  const clients: RawClient[] = [];
  beforeAll(async () => {
    files = await openFiles({ store: options, settings: { maxFileBytes: MAX_FILE_BYTES } });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await files?.close();
  });

  async function begin(upload: RawUpload): Promise<RawClient> {
    const client = await openRaw(files.port);
    clients.push(client);
    client.send(uploadHead(upload));
    return client;
  }

  const books = (user: Uploader) => readBooks(files.db, user.id);
  const nothing = { stored: 0, files: 0, reserved: 0, uploads: 0 };
  const isBegun = (user: Uploader) => waitFor(async () => (await uploadsOf(user)).length > 0);
  const uploadsOf = (user: Uploader) =>
    files.db
      .selectFrom('uploads')
      .select(['id', 'state', 'reserved_bytes'])
      .where('user_id', '=', user.id)
      .execute();
  async function objectsOf(uploadId: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of files.objects.list(`originals/${uploadId}/`)) keys.push(key);
    return keys;
  }

  describe('a client that waits for 100 Continue', () => {
    it('is let go on when all is well, and only then', async () => {
      const user = await files.user();
      const body = uploadBody('text');
      const client = await begin({ token: user.token, contentLength: body.length, headers: [EXPECT] });
      expect(await client.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      expect(await books(user)).toMatchObject({ stored: 0, uploads: 0, files: 0 });
      client.send(body);
      expect(await client.until('.txt')).toContain('HTTP/1.1 200 OK');
    });

    it.each<[string, number, (token: string) => RawUpload]>([
      ['without a token', 401, () => ({ contentLength: 100 })],
      ['with garbage for a token', 401, () => ({ token: 'garbage', contentLength: 100 })],
      ['with too large a body', 413, (token) => ({ token, contentLength: MAX_FILE_BYTES + 70_000 })],
      ['without room', 413, (token) => ({ token, contentLength: 10_000_000 })],
    ])('is refused %s before it sends a byte', async (_what, status, upload) => {
      const user = await files.user({ maxBytes: 1_000 });
      const client = await begin({ ...upload(user.token), headers: [EXPECT] });
      await client.untilClosed();
      expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(client.received().toLowerCase()).toContain('\r\nconnection: close\r\n');
      expect(await books(user)).toMatchObject(nothing);
      expect(await uploadsOf(user)).toEqual([]);
    });

    it('is let go on elsewhere too, and other expectations are ignored', async () => {
      const client = await openRaw(files.port);
      clients.push(client);
      client.send(
        `DELETE /x HTTP/1.1\r\nhost: h\r\n${EXPECT}\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\n`,
      );
      expect(await client.until('401 Unauthorized')).not.toContain('100 Continue');
      const other = await openRaw(files.port);
      clients.push(other);
      other.send('GET /openapi.json HTTP/1.1\r\nhost: h\r\nexpect: miracles\r\n\r\n');
      await other.until('200 OK');
    });
  });

  describe('a body that is refused early', () => {
    it('is read and dropped, so that the client sees why, and may go on', async () => {
      const user = await files.user();
      const body = uploadBody('x'.repeat(5_000_000));
      const client = await begin({ contentLength: body.length });
      await client.until('401 Unauthorized');
      client.forget();
      client.send(body);
      client.send(
        uploadHead({ token: user.token, contentLength: uploadBody('text').length }) + uploadBody('text'),
      );
      expect(await client.until('.txt')).toContain('HTTP/1.1 200 OK');
    });

    it.each([
      ['that wants the connection closed', ['connection: close'], 'HTTP/1.1'],
      ['of HTTP/1.0', [], 'HTTP/1.0'],
    ])('also of a client %s', async (_who, headers, version) => {
      const client = await openRaw(files.port);
      clients.push(client);
      // Such a client looks at the answer only when it has sent everything.
      client.socket.pause();
      client.send(uploadHead({ contentLength: MAX_FILE_BYTES, headers }).replace('HTTP/1.1', version));
      for (let sent = 0; sent < MAX_FILE_BYTES; sent += 1_000_000)
        await new Promise((resolve, reject) =>
          client.socket.write(Buffer.alloc(1_000_000), (error) => (error ? reject(error) : resolve(null))),
        );
      client.socket.resume();
      expect(await client.until('UNAUTHENTICATED')).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: close\r\n/i);
      await client.untilClosed();
    });

    it('also when it was read for a while', async () => {
      const user = await files.user();
      const body = uploadBody(`<html>${'x'.repeat(5_000_000)}`);
      const client = await begin({ token: user.token, contentLength: body.length });
      client.send(body.slice(0, 100_000));
      await client.until('UNSUPPORTED_FILE_TYPE');
      client.forget();
      client.send(body.slice(100_000));
      client.send(
        uploadHead({ token: user.token, contentLength: uploadBody('text').length }) + uploadBody('text'),
      );
      expect(await client.until('.txt')).toContain('HTTP/1.1 200 OK');
    });

    it('is refused without being read when there is no room', async () => {
      const user = await files.user({ maxBytes: 1_000 });
      const client = await begin({ token: user.token, contentLength: 10_000_000 });
      expect(await client.until('QUOTA_EXCEEDED')).toContain('413 ');
      expect(await uploadsOf(user)).toEqual([]);
    });
  });

  describe('a client that goes away', () => {
    it.each([
      ['before the first byte', ''],
      ['in the middle of the head of a part', '--b\r\ncontent-dis'],
      ['in the middle of a small file', uploadBody('x'.repeat(1_000)).slice(0, 500)],
      ['in the middle of a large file', uploadBody('x'.repeat(9_000_000)).slice(0, 8_500_000)],
    ])('%s leaves no row, no object and no reservation', async (_when, sent) => {
      const user = await files.user();
      const client = await begin({ token: user.token, contentLength: 10_000_000 });
      await isBegun(user);
      const [upload] = await uploadsOf(user);
      expect(upload).toMatchObject({ state: 'open', reserved_bytes: 10_000_000 - 4_096 });
      client.send(sent);
      client.socket.end();
      client.socket.destroySoon();
      await waitFor(async () => !(await uploadsOf(user)).some(({ state }) => state === 'open'));
      expect(await books(user)).toMatchObject(nothing);
      await waitFor(async () => (await objectsOf(upload!.id)).length === 0);
    });

    it('between two files leaves them to the sweep', async () => {
      const user = await files.user();
      const whole = uploadBody('whole').replace('--b--\r\n', '');
      const client = await begin({ token: user.token, contentLength: 10_000_000 });
      client.send(
        `${whole}--b\r\ncontent-disposition: form-data; name="file"; filename="b"\r\n\r\n${'x'.repeat(100_000)}`,
      );
      const [upload] = await waitFor(async () => {
        const uploads = await uploadsOf(user);
        return uploads.length > 0 && (await objectsOf(uploads[0]!.id)).length > 0 ? uploads : undefined;
      });
      client.close();
      await waitFor(async () => (await uploadsOf(user))[0]?.state === 'abandoned');
      expect(await books(user)).toMatchObject(nothing);
      expect(await objectsOf(upload!.id)).toEqual([`originals/${upload!.id}/0`]);
    });
  });

  describe('a length that lies', () => {
    it('too long: the upload waits, and is given up with the connection', async () => {
      const user = await files.user();
      const body = uploadBody('text');
      const client = await begin({ token: user.token, contentLength: body.length + 100 });
      client.send(body);
      await isBegun(user);
      client.close();
      await waitFor(async () => !(await uploadsOf(user)).some(({ state }) => state === 'open'));
      expect(await books(user)).toMatchObject(nothing);
    });

    it('too short: the body ends in the middle, and what follows is no request', async () => {
      const user = await files.user();
      const body = uploadBody('x'.repeat(1_000));
      const client = await begin({ token: user.token, contentLength: 500 });
      client.send(body);
      await client.untilClosed();
      expect(client.received()).toMatch(/^HTTP\/1.1 400 Bad Request/);
      expect(await books(user)).toMatchObject(nothing);
    });

    it.each([
      ['no number', 'content-length: many'],
      ['negative', 'content-length: -1'],
      ['two of them', 'content-length: 5\r\ncontent-length: 6'],
      ['beside chunks', 'content-length: 5\r\ntransfer-encoding: chunked'],
    ])('%s: 400, and the connection ends', async (_what, header) => {
      const user = await files.user();
      const client = await openRaw(files.port);
      clients.push(client);
      client.send(
        `POST / HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${user.token}\r\ncontent-type: multipart/form-data; boundary=b\r\n${header}\r\n\r\n`,
      );
      await client.untilClosed();
      expect(client.received()).toMatch(/^HTTP\/1.1 400 Bad Request/);
      expect(client.received()).toContain('"code":"INVALID_REQUEST"');
      expect(await books(user)).toMatchObject(nothing);
    });
  });

  it('chunks that are none give the upload up', async () => {
    const user = await files.user();
    const client = await begin({ token: user.token });
    client.send('5\r\n--b\r\n\r\n');
    await isBegun(user);
    client.send('zzz\r\n');
    await client.untilClosed();
    await waitFor(async () => !(await uploadsOf(user)).some(({ state }) => state === 'open'));
    expect(await books(user)).toMatchObject(nothing);
  });

  it.each([
    ['NUL', 'a\x00b.txt', 'ab.txt'],
    ['CRLF', 'a\r\nX-Evil: 1\r\n.txt', null],
    ['no UTF-8', 'gr\xfc\xdfe.txt', 'gr\ufffd\ufffde.txt'],
    ['a path', '..\\..\\windows\\win.ini', 'win.ini'],
  ])('a file name with %s ends up safe', async (_what, fileName, kept) => {
    const user = await files.user();
    const body = Buffer.from(uploadBody('text', fileName), 'latin1');
    const client = await begin({ token: user.token, contentLength: body.length });
    client.send(body);
    await client.until('.txt');
    const row = await files.db
      .selectFrom('files')
      .select(['original_name', 'stem', 'size_bytes'])
      .where('user_id', '=', user.id)
      .executeTakeFirstOrThrow();
    expect(row.size_bytes).toBe(4);
    if (kept !== null) expect(row.original_name).toBe(kept);
    const read = await fetch(`${files.url}/${row.stem}.txt`);
    expect(read.headers.has('x-evil')).toBe(false);
    expect(await read.text()).toBe('text');
  });

  it.each([
    ['a bare line feed in its file name', 'form-data; name="file"; filename="a\nb.txt"\r\n\r\n'],
    ['a bare carriage return in its file name', 'form-data; name="file"; filename="a\rb.txt"\r\n\r\n'],
    ['another disposition', 'attachment; name="file"; filename="a.txt"\r\n\r\n'],
    ['a head that does not end', 'form-data; name="file"\r\n'],
  ])('a part with %s cannot be read: nothing of the request is stored', async (_what, head) => {
    const user = await files.user();
    const unreadable = `--b\r\ncontent-disposition: ${head}text\r\n`;
    const readable = uploadBody('text').replace('--b--\r\n', '');
    for (const body of [`${readable}${unreadable}--b--\r\n`, `${unreadable}${readable}--b--\r\n`]) {
      const client = await begin({ token: user.token, contentLength: body.length });
      client.send(body);
      expect(await client.until('MALFORMED_MULTIPART')).toMatch(/^HTTP\/1.1 400 /);
      expect(await books(user)).toMatchObject(nothing);
    }
  });
});
