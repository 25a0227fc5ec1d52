import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type FilesFixture, openFiles, type TestFile, type Uploader } from './files-fixture.ts';

const MAX_FILE_BYTES = 1_000_000;
const text = (size: number) => Buffer.alloc(size, 'a');
const file = (bytes: Uint8Array | string, fileName = 'a.txt'): TestFile => ({
  bytes: Buffer.from(bytes),
  fileName,
});

describe.each(objectStores())('with the $name store', ({ options }) => {
  let files: FilesFixture;
  beforeAll(async () => {
    files = await openFiles({ store: options, settings: { maxFileBytes: MAX_FILE_BYTES } });
  });
  afterAll(() => files?.close());

  /** Asserts the answer, and that nothing was stored nor charged, nor stays reserved. */
  async function expectRefusal(
    user: Uploader,
    response: Response,
    status: number,
    code: string,
  ): Promise<unknown> {
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const problem = (await response.json()) as Record<string, unknown>;
    expect(problem).toMatchObject({ type: 'about:blank', status, code, title: expect.any(String) });
    expect(response.status).toBe(status);
    expect(problem.request_id).toBe(response.headers.get('x-request-id'));
    expect(await readBooks(files.db, user.id)).toMatchObject({
      stored: 0,
      files: 0,
      reserved: 0,
      uploads: 0,
    });
    return problem.details;
  }

  const post = (
    user: Uploader,
    body: string | Buffer<ArrayBuffer> | undefined,
    headers: Record<string, string> = {},
  ) =>
    fetch(files.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.token}`, ...headers },
      ...(body !== undefined && { body }),
    });

  describe('a request without a file', () => {
    it.each([
      ['no part at all', []],
      ['only empty files', [file(''), file('', 'b.txt')]],
      ['a part of another name', [{ ...file('text'), name: 'upload' }]],
    ])('%s', async (_what, sent) => {
      const user = await files.user();
      await expectRefusal(user, await files.upload(user, sent), 400, 'NO_FILE');
    });

    it.each([
      ['JSON', '{"file": "text"}', 'application/json'],
      ['broken JSON', '{', 'application/json'],
      ['a form of the other kind', 'file=text', 'application/x-www-form-urlencoded'],
      ['text', 'text', 'text/plain'],
      ['bytes', 'bytes', 'application/octet-stream'],
      ['other multipart', '--b--', 'multipart/mixed; boundary=b'],
      ['a type that is none', 'x', 'nonsense'],
    ])('but %s', async (_what, body, contentType) => {
      const user = await files.user();
      await expectRefusal(user, await post(user, body, { 'content-type': contentType }), 400, 'NO_FILE');
    });

    it('nor a body', async () => {
      const user = await files.user();
      await expectRefusal(user, await post(user, undefined), 400, 'NO_FILE');
      const empty = await post(user, undefined, { 'content-type': 'multipart/form-data; boundary=b' });
      await expectRefusal(user, empty, 400, 'NO_FILE');
    });
  });

  describe('a body that is not whole', () => {
    it.each(['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; charset=utf-8'])(
      'without a boundary: %s',
      async (contentType) => {
        const user = await files.user();
        const body = '--b\r\ncontent-disposition: form-data; name="file"\r\n\r\ntext\r\n--b--\r\n';
        await expectRefusal(
          user,
          await post(user, body, { 'content-type': contentType }),
          400,
          'MALFORMED_MULTIPART',
        );
      },
    );

    it.each([
      ['before its first boundary', ''],
      ['in the headers of a part', '--b\r\ncontent-disposition: form-'],
      ['in a file', '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\ntext'],
      [
        'before the last boundary',
        '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\ntext\r\n--b',
      ],
      [
        'in a large file',
        `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${text(300_000)}`,
      ],
    ])('but ends %s', async (_where, body) => {
      const user = await files.user();
      const response = await post(user, `preamble\r\n${body}`, {
        'content-type': 'multipart/form-data; boundary=b',
      });
      await expectRefusal(user, response, 400, 'MALFORMED_MULTIPART');
    });

    it('also after a file that is whole: all are stored or none', async () => {
      const user = await files.user();
      const part = (body: string) =>
        `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${body}`;
      const response = await post(user, `${part('whole\r\n')}${part('cut')}`, {
        'content-type': 'multipart/form-data; boundary=b',
      });
      await expectRefusal(user, response, 400, 'MALFORMED_MULTIPART');
    });
  });

  describe('a file of a type that is not stored', () => {
    it.each([
      ['an ELF program', '\x7fELF\x02\x01\x01\x00\x00', 'a'],
      ['an ELF program as .jpg', '\x7fELF\x02\x01\x01\x00\x00', 'photo.jpg'],
      ['a Windows program', 'MZ\x90\x00\x03\x00\x00\x00', 'setup.exe'],
      ['a script', '#!/bin/sh\nrm -rf /\n', 'notes.txt'],
      ['HTML', '<!DOCTYPE html><script>alert(1)</script>', 'notes.txt'],
      ['HTML as .jpg', '\n  <html>', 'photo.jpg'],
      ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'a.txt'],
      ['XML', '<?xml version="1.0"?><a/>', 'a.txt'],
      ['text that is named as a program', 'harmless', 'a.exe'],
      ['text that Windows would name as a program', 'harmless', 'a.exe. .'],
      ['text that is named as markup', 'harmless', 'a.HTML'],
      ['text with NUL', 'a\x00b', 'a.txt'],
      ['Latin-1', 'gr\xfc\xdfe', 'a.txt'],
      ['a gzip archive', '\x1f\x8b\x08\x00', 'a.gz'],
    ])('%s', async (_what, bytes, fileName) => {
      const user = await files.user();
      const response = await files.upload(user, [file(Buffer.from(bytes, 'latin1'), fileName)]);
      await expectRefusal(user, response, 415, 'UNSUPPORTED_FILE_TYPE');
    });

    it('random bytes', async () => {
      const user = await files.user();
      // 0x80 first: never UTF-8, and no signature begins with it.
      const bytes = Buffer.concat([Buffer.from([0x80]), randomBytes(100_000)]);
      await expectRefusal(user, await files.upload(user, [file(bytes)]), 415, 'UNSUPPORTED_FILE_TYPE');
    });

    it('text that turns out not to be, after a long time', async () => {
      const user = await files.user();
      const bytes = Buffer.concat([text(900_000), Buffer.from([0]), text(10)]);
      await expectRefusal(user, await files.upload(user, [file(bytes)]), 415, 'UNSUPPORTED_FILE_TYPE');
    });

    it('although the others are fine: all are stored or none', async () => {
      const user = await files.user();
      const picture = await makePicture({ width: 20, height: 20, format: 'png' });
      const response = await files.upload(user, [file(picture, 'a.png'), file('<html>')]);
      await expectRefusal(user, response, 415, 'UNSUPPORTED_FILE_TYPE');
    });
  });

  describe('a file that is too large', () => {
    it('by one byte, announced or not; exactly the limit is stored', async () => {
      const user = await files.user();
      const tooLarge = [file(text(MAX_FILE_BYTES + 1))];
      for (const response of [await files.upload(user, tooLarge), await files.uploadChunked(user, tooLarge)])
        expect(await expectRefusal(user, response, 413, 'FILE_TOO_LARGE')).toEqual({
          max_file_bytes: MAX_FILE_BYTES,
        });
      expect((await files.upload(user, [file(text(MAX_FILE_BYTES))])).status).toBe(200);
      expect((await files.uploadChunked(user, [file(text(MAX_FILE_BYTES))])).status).toBe(200);
    });

    it('whatever its type is', async () => {
      const user = await files.user();
      const zeros = Buffer.alloc(MAX_FILE_BYTES + 100_000);
      await expectRefusal(user, await files.upload(user, [file(zeros)]), 413, 'FILE_TOO_LARGE');
      await expectRefusal(
        user,
        await post(user, zeros, { 'content-type': 'application/json' }),
        413,
        'FILE_TOO_LARGE',
      );
    });

    it('or files that are too large together', async () => {
      const user = await files.user();
      const halves = [file(text(600_000)), file(text(600_000))];
      await expectRefusal(user, await files.upload(user, halves), 413, 'FILE_TOO_LARGE');
      await expectRefusal(user, await files.uploadChunked(user, halves), 413, 'FILE_TOO_LARGE');
      const ignored = [file('kept'), { ...file(text(1_200_000)), name: 'ignored' }];
      await expectRefusal(user, await files.uploadChunked(user, ignored), 413, 'FILE_TOO_LARGE');
    });
  });

  describe('a user without room', () => {
    it('for an announced length, for one that is not, and for the last byte', async () => {
      const user = await files.user({ maxBytes: 99_999 });
      const sent = [file(text(100_000))];
      await expectRefusal(user, await files.upload(user, sent), 413, 'QUOTA_EXCEEDED');
      await expectRefusal(user, await files.uploadChunked(user, sent), 413, 'QUOTA_EXCEEDED');
      const none = await files.user({ maxBytes: 0 });
      await expectRefusal(none, await files.upload(none, [file('x')]), 413, 'QUOTA_EXCEEDED');
      await expectRefusal(none, await files.uploadChunked(none, [file('x')]), 413, 'QUOTA_EXCEEDED');
    });
  });

  describe('a caller', () => {
    it('without a token, with garbage, or whose session has ended', async () => {
      const user = await files.user();
      for (const authorization of [
        '',
        'Bearer garbage',
        `Basic ${user.token}`,
        `Bearer ${user.token}x`,
        'Bearer',
      ]) {
        const response = await post(user, 'x', { authorization });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
        await expectRefusal(user, response, 401, 'UNAUTHENTICATED');
      }
      await files.db
        .updateTable('sessions')
        .set({ revoked_at: new Date() })
        .where('id', '=', user.sessionId)
        .execute();
      await expectRefusal(user, await files.upload(user, [file('x')]), 401, 'UNAUTHENTICATED');
      // That comes before everything else that is wrong.
      await expectRefusal(
        user,
        await post(user, '{}', { 'content-type': 'application/json' }),
        401,
        'UNAUTHENTICATED',
      );
      await expectRefusal(user, await files.upload(user, [file(text(1_200_000))]), 401, 'UNAUTHENTICATED');
    });

    it('who sends more than twenty files', async () => {
      const user = await files.user();
      const sent = Array.from({ length: 21 }, () => file('x'));
      expect(await expectRefusal(user, await files.upload(user, sent), 400, 'TOO_MANY_FILES')).toEqual({
        max_files: 20,
      });
    });

    it('whose idempotency key is none', async () => {
      const user = await files.user();
      for (const key of ['x'.repeat(256), 'a b'])
        expect(
          await expectRefusal(
            user,
            await files.upload(user, [file('x')], { 'idempotency-key': key }),
            400,
            'INVALID_REQUEST',
          ),
        ).toMatchObject({ field: 'Idempotency-Key' });
    });
  });

  it('leaves objects of refused files to the sweep, which knows them by their row', async () => {
    const user = await files.user();
    const picture = await makePicture({ width: 20, height: 20, format: 'png' });
    const response = await files.upload(user, [file(picture, 'a.png'), file('<html>')]);
    await expectRefusal(user, response, 415, 'UNSUPPORTED_FILE_TYPE');
    const rows = await files.db
      .selectFrom('uploads')
      .select(['id', 'state'])
      .where('user_id', '=', user.id)
      .execute();
    expect(rows).toMatchObject([{ state: 'abandoned' }]);
    const keys: string[] = [];
    for await (const { key } of files.objects.list(`originals/${rows[0]!.id}/`)) keys.push(key);
    expect(keys).toEqual([`originals/${rows[0]!.id}/0`]);
  });
});
