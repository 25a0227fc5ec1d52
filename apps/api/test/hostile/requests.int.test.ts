import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, openService, type Person, refusal, type Service } from './service.ts';

let service: Service;
let person: Person;

beforeAll(async () => {
  service = await openService({ throttles: true });
  person = await service.person('sender');
});
afterAll(() => service?.close());

const json = () => ({ ...person.auth, 'content-type': 'application/json' });
const post = (path: string, body: string) =>
  fetch(service.url + path, { method: 'POST', headers: json(), body });

describe('a request that two servers could read differently', () => {
  const auth = () => `host: h\r\nauthorization: Bearer ${person.token}\r\n`;
  const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n';

  it.each([
    [
      'with a length and chunks',
      (a: string) =>
        `POST / HTTP/1.1\r\n${a}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
      400,
    ],
    [
      'with two lengths',
      (a: string) => `POST / HTTP/1.1\r\n${a}content-length: 1\r\ncontent-length: 2\r\n\r\nx${SMUGGLED}`,
      400,
    ],
    [
      'with a list of lengths',
      (a: string) => `POST / HTTP/1.1\r\n${a}content-length: 1, 1\r\n\r\nx${SMUGGLED}`,
      400,
    ],
    [
      'with a negative length',
      (a: string) => `POST / HTTP/1.1\r\n${a}content-length: -1\r\n\r\n${SMUGGLED}`,
      400,
    ],
    [
      'with a length of +1',
      (a: string) => `POST / HTTP/1.1\r\n${a}content-length: +1\r\n\r\nx${SMUGGLED}`,
      400,
    ],
    [
      'with a length beyond all numbers',
      (a: string) => `POST / HTTP/1.1\r\n${a}content-length: ${'9'.repeat(30)}\r\n\r\n${SMUGGLED}`,
      400,
    ],
    [
      'with an unknown coding',
      (a: string) => `POST / HTTP/1.1\r\n${a}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
      400,
    ],
    [
      'with two codings',
      (a: string) =>
        `POST / HTTP/1.1\r\n${a}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
      400,
    ],
    [
      'with a space before the colon',
      (a: string) => `POST / HTTP/1.1\r\n${a}transfer-encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
      400,
    ],
    ['with a folded header', (a: string) => `GET / HTTP/1.1\r\n${a}x: a\r\n b\r\n\r\n${SMUGGLED}`, 400],
    ['with bare line feeds', (a: string) => `GET / HTTP/1.1\n${a.replaceAll('\r', '')}\n${SMUGGLED}`, 400],
    ['with NUL in a header', (a: string) => `GET / HTTP/1.1\r\n${a}x: a\0b\r\n\r\n${SMUGGLED}`, 400],
    ['of HTTP/2', () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${SMUGGLED}`, 400],
    ['of HTTP/3.0', (a: string) => `GET / HTTP/3.0\r\n${a}\r\n${SMUGGLED}`, 400],
    [
      'with a chunk extension that does not end',
      (a: string) => `POST / HTTP/1.1\r\n${a}transfer-encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}\r\n`,
      413,
    ],
  ])('%s is refused, and what follows is no request', async (_, request, status) => {
    const client = await service.raw(Buffer.from(request(auth()), 'latin1'));
    await client.untilClosed();
    expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(client.received().match(/HTTP\/1.1 \d/g)).toHaveLength(1);
    expect(service.lines.join('')).not.toContain('/smuggled');
  });

  it('a body of a GET is no second request', async () => {
    const body = 'GET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n';
    const client = await service.raw(
      `GET / HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n${body}GET /second HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`,
    );
    await client.untilClosed();
    expect(client.received().match(/HTTP\/1.1 (\d+)/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
    expect(service.lines.join('')).not.toContain('/smuggled');
  });

  it('an upgrade is not made, and CONNECT is not answered', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const client = await service.raw(
        `GET / HTTP/1.1\r\nhost: h\r\nconnection: upgrade, close\r\nupgrade: ${protocol}\r\n\r\n`,
      );
      await client.untilClosed();
      expect(client.received()).toMatch(/^HTTP\/1.1 200 /);
    }
    const client = await service.raw(
      'CONNECT evil.example.org:80 HTTP/1.1\r\nhost: evil.example.org\r\n\r\n',
    );
    await client.untilClosed();
    expect(client.received()).not.toContain('200');
  });

  it('trailers change nothing', async () => {
    const client = await service.raw(
      `POST /quota/increase HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\ntrailer: authorization\r\n\r\n2\r\n{}\r\n0\r\nauthorization: Bearer ${person.token}\r\n\r\n`,
    );
    await client.untilClosed();
    expect(client.received()).toMatch(/^HTTP\/1.1 40[01] /);
  });
});

describe('a body about a quota', () => {
  const fields = {
    '/quota/increase': 'additional_bytes',
    '/quota/set': 'new_quota_bytes',
    '/quota/limit': 'max_quota_bytes',
  };

  it.each(Object.entries(fields))(
    'that would pollute prototypes is refused, naming the field: %s',
    async (path, field) => {
      for (const [name, value] of [
        ['__proto__', '{"role":"admin"}'],
        ['__proto__', '1'],
        ['constructor', '{"prototype":{"role":"admin"}}'],
        ['prototype', '{"role":"admin"}'],
        ['toString', '1'],
        ['role', '"admin"'],
      ]) {
        const answer = await post(path, `{"user_id":"${person.id}","${field}":1,"${name}":${value}}`);
        const body = await jsonOf(answer);
        expect([answer.status, body.code, body.details]).toEqual([
          400,
          'INVALID_REQUEST',
          { field: name, rule: 'is not known here' },
        ]);
      }
      const nested = await post(path, `{"user_id":{"__proto__":{"toLowerCase":1}},"${field}":1}`);
      expect((await jsonOf(nested)).details).toEqual({ field: 'user_id', rule: 'must be string' });
      expect(({} as { role?: string }).role).toBeUndefined();
    },
  );

  it.each([
    ['not JSON', 'user_id=1', 400],
    ['nothing', '', 400],
    ['null', 'null', 400],
    ['after a byte order mark', '\ufeff{}', 400],
    ['of 30,000 brackets', '['.repeat(30_000), 400],
    ['of 30,000 objects', '{"a":'.repeat(10_000), 400],
    ['of 30,000 brackets that end', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400],
    ['of 64 KiB and a byte', `"${'x'.repeat(65_535)}"`, 413],
  ])('that is %s: refused', async (_, body, status) => {
    expect((await post('/quota/increase', body)).status).toBe(status);
  });

  it('with the same field twice counts the last, as JSON.parse does', async () => {
    const before = (
      await jsonOf(await fetch(`${service.url}/quota?user_id=${person.id}`, { headers: person.auth }))
    ).current_quota;
    const answer = await post(
      '/quota/increase',
      `{"user_id":"${person.id}","additional_bytes":5,"additional_bytes":2}`,
    );
    expect((await jsonOf(answer)).current_quota).toBe(before + 2);
  });
});

describe('SQL in a string', () => {
  const SQL = [
    "' OR '1'='1",
    "'; DROP TABLE files; --",
    '" OR ""="',
    '1; SELECT pg_sleep(9)',
    '$1',
    '%27',
    '\\',
    '\u0000',
    '%00',
  ];

  it.each(SQL)('%j is a text like any other', async (sql) => {
    const get = (path: string) => fetch(service.url + path, { headers: person.auth });
    const text = encodeURIComponent(sql);
    expect(await refusal(await get(`/quota?user_id=${text}`))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await get(`/quota?user_id=${person.id}${text}`))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await get(`/files?user_id=${text}`))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await get(`/files?cursor=${text}`))).toEqual([400, 'INVALID_REQUEST']);
    expect(await refusal(await get(`/files?cursor=1.${randomUUID()}${text}`))).toEqual([
      400,
      'INVALID_REQUEST',
    ]);
    expect(await refusal(await get(`/files?limit=${text}`))).toEqual([400, 'INVALID_REQUEST']);
    expect(await refusal(await get(`/files/${text}`))).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await refusal(await get(`/${text}`))).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await refusal(await get(`/${text}/webp`))).toEqual([404, 'FILE_NOT_FOUND']);
    const gone = await fetch(`${service.url}/${text}`, { method: 'DELETE', headers: person.auth });
    expect(await refusal(gone)).toEqual([404, 'FILE_NOT_FOUND']);
    const set = await post('/quota/set', JSON.stringify({ user_id: sql, new_quota_bytes: 0 }));
    expect(await refusal(set)).toEqual([403, 'FORBIDDEN']);
    const name = await service.store(person, 'x', `${sql}.txt`);
    expect((await get(`/files/${name}`)).status).toBe(200);
  });

  it('as an administrator, who may ask for anyone: nobody has that id', async () => {
    const admin = await service.administrator();
    for (const sql of SQL) {
      const answer = await fetch(`${service.url}/quota?user_id=${encodeURIComponent(sql)}`, {
        headers: admin.auth,
      });
      expect(await refusal(answer), sql).toEqual([404, 'USER_NOT_FOUND']);
      const list = await fetch(`${service.url}/files?user_id=${encodeURIComponent(sql)}`, {
        headers: admin.auth,
      });
      expect(await refusal(list), sql).toEqual([404, 'USER_NOT_FOUND']);
    }
  });
});

describe('a spoofed X-Forwarded-For', () => {
  const fail = (url: string, email: string, forwarded: string) =>
    fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': forwarded,
        forwarded: `for=${forwarded}`,
      },
      body: JSON.stringify({
        query: `mutation { login(params: { email: "${email}", password: "wrong" }) { statusCode } }`,
      }),
    }).then(async (answer) => (await jsonOf(answer)).data.login.statusCode);

  it('does not give more guesses, nor is it remembered, without TRUST_PROXY', async () => {
    const { email } = await service.person('guessed');
    for (let n = 0; n < 5; n += 1) expect(await fail(service.url, email, `192.0.2.${n}`)).toBe(401);
    expect(await fail(service.url, email, '192.0.2.99')).toBe(429);
    const answer = await fetch(service.url, { headers: { ...person.auth, 'x-forwarded-for': '192.0.2.7' } });
    expect(JSON.parse((await jsonOf(answer)).device_info).ip).toBe('127.0.0.1');
  });

  it('before what the trusted proxy says counts for nothing', async () => {
    const behind = await openService({ throttles: true, settings: { trustProxy: 1 } });
    try {
      const { email } = await behind.person('guessed');
      for (let n = 0; n < 5; n += 1)
        expect(await fail(behind.url, email, `192.0.2.${n}, 198.51.100.1`)).toBe(401);
      expect(await fail(behind.url, email, '192.0.2.99, 198.51.100.1')).toBe(429);
      expect(await fail(behind.url, email, '192.0.2.99, 198.51.100.2')).toBe(401);
    } finally {
      await behind.close();
    }
  });
});
