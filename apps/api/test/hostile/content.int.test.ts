import { deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../../scripts/testing/pictures.ts';
import { uploadBody, uploadHead } from '../raw-client.ts';
import { jsonOf, openService, type Person, refusal, type Service } from './service.ts';

let service: Service;
let person: Person;

beforeAll(async () => {
  service = await openService();
  person = await service.person('uploader');
});
afterAll(() => service?.close());

const SCRIPT = '<html><script>alert(document.domain)</script></html>';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** A ZIP with one entry of so many zeros. */
function zip(name: string, length: number): Buffer {
  const data = deflateRawSync(Buffer.alloc(length));
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(data.length, 18);
  head.writeUInt32LE(length, 22);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, Buffer.from(name), data]);
}

describe('what is two things at once is served as the harmless one, and does nothing in a browser:', () => {
  it.each([
    [
      'JPEG and HTML',
      'a.html.jpg',
      async () => Buffer.concat([await makePicture({ width: 8, height: 8, format: 'jpeg' }), latin1(SCRIPT)]),
      'image/jpeg',
      'inline',
    ],
    [
      'JPEG by three bytes, then HTML',
      'a.jpg',
      () => latin1(`\xff\xd8\xff\xe0${SCRIPT}`),
      'image/jpeg',
      'inline',
    ],
    [
      'PDF with JavaScript',
      'a.pdf',
      () => latin1(`%PDF-1.7\n<</JS (app.alert(1))>>${SCRIPT}`),
      'application/pdf',
      'attachment',
    ],
    ['GIF and JavaScript', 'a.gif', () => latin1('GIF89a=1;alert(1)//'), 'image/gif', 'inline'],
    [
      'GIF and ZIP',
      'a.gif',
      async () =>
        Buffer.concat([await makePicture({ width: 8, height: 8, format: 'gif' }), zip('evil.js', 10)]),
      'image/gif',
      'inline',
    ],
    [
      'ZIP that unpacks to 50 MB',
      'a.zip',
      () => zip('[Content_Types].xml', 50_000_000),
      'application/zip',
      'attachment',
    ],
    ['MP3 and HTML', 'a.mp3', () => latin1(`ID3${SCRIPT}`), 'audio/mpeg', 'inline'],
    ['MP4 and HTML', 'a.mp4', () => latin1(`\0\0\0\x18ftypisom${SCRIPT}`), 'video/mp4', 'inline'],
    [
      'text and SVG, after a comment',
      'a.txt',
      () => latin1(`<!--x--><svg onload="alert(1)"/>`),
      'text/plain; charset=utf-8',
      'inline',
    ],
    [
      'text and HTML, in UTF-7',
      'a.txt',
      () => latin1('+ADw-script+AD4-alert(1)+ADw-/script+AD4-'),
      'text/plain; charset=utf-8',
      'inline',
    ],
    ['text and PHP', 'a.txt', () => latin1('<?php system($_GET[0]);'), 'text/plain; charset=utf-8', 'inline'],
    ['CSV and a formula', 'a.csv', () => latin1('=cmd|calc!A1,1\n'), 'text/csv; charset=utf-8', 'attachment'],
    [
      'Markdown and a script',
      'a.md',
      () => latin1('# x\n<script>alert(1)</script>'),
      'text/markdown; charset=utf-8',
      'attachment',
    ],
    [
      'JSON and HTML',
      'a.json',
      () => latin1('{"a":"<script>alert(1)</script>"}'),
      'application/json; charset=utf-8',
      'attachment',
    ],
  ])('%s', async (_, fileName, make, contentType, disposition) => {
    const bytes = await make();
    const answer = await fetch(`${service.url}/${await service.store(person, bytes, fileName)}`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect(answer.headers.get('content-type')).toBe(contentType);
    expect(answer.headers.get('content-disposition')).toMatch(new RegExp(`^${disposition}; filename="?a`));
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  });
});

describe('what a browser would run is not stored, so never served inline:', () => {
  it.each([
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['SVG in XML', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['SVG after 100 KB of spaces', `${' '.repeat(100_000)}<svg onload="alert(1)"/>`],
    ['HTML', SCRIPT],
    ['HTML after a byte order mark', `\xef\xbb\xbf\n\t${SCRIPT}`],
    ['HTML in capitals', '<SCRIPT >alert(1)</SCRIPT>'],
    ['a comment, then HTML', `<!-- --> ${SCRIPT}`],
    ['HTML in UTF-16', `\xff\xfe<\0h\0t\0m\0l\0>\0`],
    ['XSLT', '<?xml-stylesheet href="javascript:alert(1)"?>'],
  ])('%s', async (_, bytes) => {
    for (const fileName of ['a.txt', 'a.jpg', 'a.svg', 'a']) {
      const body = new FormData();
      body.append(
        'file',
        new Blob([latin1(bytes) as Uint8Array<ArrayBuffer>], { type: 'image/png' }),
        fileName,
      );
      const answer = await fetch(service.url, { method: 'POST', headers: person.auth, body });
      expect(await refusal(answer), fileName).toEqual([415, 'UNSUPPORTED_FILE_TYPE']);
    }
  });

  it('nor when the configuration allows the type: it is not told by its first bytes', async () => {
    const lax = await openService({
      settings: { allowedTypes: ['image/svg+xml', 'text/html', 'text/plain'] },
    });
    try {
      const somebody = await lax.person('somebody');
      for (const bytes of ['<svg onload="alert(1)"/>', SCRIPT]) {
        const body = new FormData();
        body.append('file', new Blob([bytes]), 'a.txt');
        const answer = await fetch(lax.url, { method: 'POST', headers: somebody.auth, body });
        expect(await refusal(answer)).toEqual([415, 'UNSUPPORTED_FILE_TYPE']);
      }
    } finally {
      await lax.close();
    }
  });
});

describe('the name of a file', () => {
  it.each([
    ['CRLF', 'a\r\nX-Evil: 1\r\nSet-Cookie: a=b.txt'],
    ['CRLF in percent signs', 'a%0d%0aX-Evil: 1.txt'],
    ['CRLF in an escaped quote', 'a\\"\r\nX-Evil: 1.txt'],
    ['a bare CR', 'a\rX-Evil: 1.txt'],
    ['a quote and a parameter', 'a\\"; filename*=UTF-8\'\'evil.html; x=\\".txt'],
    ['a null byte', 'a.html\0.txt'],
    ['characters that turn the direction of writing', 'a\u202etxt.exe\u202c.txt'],
  ])('with %s makes no header of its own', async (_, fileName) => {
    const body = Buffer.from(uploadBody('text', fileName));
    const client = await service.raw(uploadHead({ token: person.token, contentLength: body.length }));
    client.send(body);
    await client.until('\r\n\r\n');
    const name = /[0-9a-z]{26}\.txt$/.exec(client.received())?.[0];
    if (name === undefined) {
      // Then it was no file part at all.
      expect(client.received()).toMatch(/^HTTP\/1.1 400 /);
      return;
    }
    const read = await service.raw(`GET /${name} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`);
    await read.untilClosed();
    const [head = ''] = read.received().split('\r\n\r\n');
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]?.toLowerCase());
    expect(names).not.toContain('x-evil');
    expect(names).not.toContain('set-cookie');
    const disposition = /^content-disposition: (.*)$/im.exec(head)?.[1] ?? '';
    expect(disposition).toMatch(/^inline; filename="?/);
    expect(disposition).not.toMatch(/[^\x20-\x7e]/);
    // One parameter of each kind, whatever the name holds.
    expect(
      disposition.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/filename\*?=/g)?.length,
    ).toBeLessThanOrEqual(2);
    const details = await fetch(`${service.url}/files/${name}`, { headers: person.auth });
    expect((await jsonOf(details)).original_name).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  });
});

describe('a read', () => {
  it('of 1,000 ranges gives the file once', async () => {
    const name = await service.store(person, 'x'.repeat(10_000));
    for (const ranges of [
      Array.from({ length: 1_000 }, (_, n) => `${n}-${n}`),
      Array.from({ length: 1_000 }, () => '0-'),
      Array.from({ length: 1_000 }, (_, n) => `-${n + 1}`),
    ]) {
      const answer = await fetch(`${service.url}/${name}`, {
        headers: { range: `bytes=${ranges.join(',')}` },
      });
      expect([answer.status, answer.headers.get('content-range')]).toEqual([200, null]);
      expect((await answer.text()).length).toBe(10_000);
    }
  });

  it.each([
    ['99999999999999999999-', 416],
    ['-0', 416],
    ['0-18446744073709551615', 206],
    ['-18446744073709551616', 206],
    ['5-2', 200],
    ['0x0-0x5', 200],
    ['1e0-5', 200],
    ['+1-5', 200],
    ['０-５', 200],
  ])('of the range %s: %d', async (range, status) => {
    const name = await service.store(person, `text of ${range}`);
    const client = await service.raw(
      Buffer.from(`GET /${name} HTTP/1.1\r\nhost: h\r\nrange: bytes=${range}\r\nconnection: close\r\n\r\n`),
    );
    await client.untilClosed();
    expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  const path = (name: string) => [
    `/../${name}`,
    `/./${name}/../../etc/passwd`,
    '/../../../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%2f..%2f..%2fetc%2fpasswd',
    '/..%252f..%252fetc%252fpasswd',
    '/..%5c..%5cwindows%5cwin.ini',
    '/..\\..\\windows\\win.ini',
    `//${name}`,
    `/${name}/`,
    `/${name}%00`,
    `/${name}%00.jpg`,
    `/${name};x=1`,
    `/${name}%20`,
    `/ ${name}`.replace(' ', '%20'),
    `/${name.toUpperCase()}`,
    `/${name.replace('.', '%2e')}%2fwebp`,
    `/originals%2f${name}`,
    `/${name.replace('.', '．')}`.replace('．', '%EF%BC%8E'),
    `/%F0%9F%A6%84.txt`,
    `/${'a'.repeat(900)}`,
    `/${'%C3%A9'.repeat(300)}`,
  ];

  it('of a path that is no name: 404, and nothing of a folder', async () => {
    const name = await service.store(person, 'the text');
    for (const asked of path(name)) {
      const client = await service.raw(`GET ${asked} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`);
      await client.untilClosed();
      expect(client.received(), asked).toMatch(/^HTTP\/1.1 404 /);
      expect(client.received(), asked).toMatch(/"code":"(FILE|ROUTE)_NOT_FOUND"/);
      expect(client.received(), asked).not.toMatch(/root:|the text/);
    }
  });

  it.each([
    ['%C0%AE%C0%AE%2f', 400],
    ['%', 400],
    ['%zz', 400],
    ['%ff', 400],
    ['a'.repeat(1_025), 414],
    ['\xff\xfe', 400],
  ])('of the path /%s: %d', async (asked, status) => {
    const client = await service.raw(
      latin1(`GET /${asked} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`),
    );
    await client.untilClosed();
    expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
