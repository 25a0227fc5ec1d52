import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { registerHttp } from '../src/http/register-http.ts';
import { serverOptions } from '../src/http/server-options.ts';
import { openRaw, type RawClient } from './raw-client.ts';

const lines: string[] = [];
const clients: RawClient[] = [];
let app: FastifyInstance;
let url: string;
let port: number;

beforeAll(async () => {
  const logger = createLogger({
    name: 'test',
    level: 'info',
    destination: { write: (line: string) => lines.push(line) },
  });
  const { options, malformed } = serverOptions({ logger: logger as FastifyBaseLogger, trustProxy: false });
  app = Fastify(options);
  await registerHttp(app, {
    malformed,
    publicUrl: 'https://files.example.org',
    corsOrigins: ['https://app.example.org'],
    version: '1.2.3',
    pace: { minBytes: 10, windowMs: 200, tickMs: 20 },
    dropBodyMs: 200,
  });
  app.post(
    '/echo',
    { schema: { body: Type.Object({ a: Type.Integer() }) } },
    async (request) => request.body,
  );
  app.get('/crash', async () => {
    throw new Error('the password is hunter2');
  });
  app.get('/known', async () => {
    throw new AppError('RATE_LIMITED', 'Slowly.', { details: { retry_after_seconds: 30 } });
  });
  app.route({ method: ['GET', 'HEAD', 'DELETE'], url: '/:name', handler: async () => 'a file' });
  app.get('/stream', async (_request, reply) => {
    const endless = new PassThrough();
    endless.write('began ');
    return reply.type('text/plain').send(endless);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = app.server.address() as AddressInfo);
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  for (const client of clients) client.close();
  await app.close();
});

async function raw(...sent: string[]): Promise<RawClient> {
  const client = await openRaw(port);
  clients.push(client);
  for (const part of sent) client.send(part);
  return client;
}

const problem = async (response: Response) => (await response.json()) as Record<string, unknown>;
const echo = (body: string, contentType = 'application/json') =>
  fetch(`${url}/echo`, { method: 'POST', body, headers: { 'content-type': contentType } });

describe('failures', () => {
  it('are problem details with the request id, and never show their cause', async () => {
    const response = await fetch(`${url}/crash`, { headers: { 'x-request-id': 'trace-me-1' } });
    expect(response.status).toBe(500);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await problem(response)).toEqual({
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      detail: expect.not.stringContaining('hunter2'),
      code: 'INTERNAL',
      request_id: 'trace-me-1',
    });
    const logged = lines
      .map((line) => JSON.parse(line))
      .find((line) => line.requestId === 'trace-me-1' && line.err);
    expect(JSON.stringify(logged)).toContain('hunter2');
  });

  it('say when to come back', async () => {
    const response = await fetch(`${url}/known`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30']);
  });

  it.each([
    ['{', 400, 'INVALID_REQUEST'],
    ['', 400, 'INVALID_REQUEST'],
    ['{"a": "1"}', 400, 'INVALID_REQUEST'],
    ['{"__proto__": {"a": 1}}', 400, 'INVALID_REQUEST'],
    [`{"a": "${'x'.repeat(70_000)}"}`, 413, 'BODY_TOO_LARGE'],
  ])('of a JSON body %#', async (body, status, code) => {
    const response = await echo(body);
    expect([response.status, (await problem(response)).code]).toEqual([status, code]);
  });

  it('of a body of another type', async () => {
    for (const type of ['text/csv', 'nonsense', 'application/json-seq']) {
      const response = await echo('x', type);
      expect([response.status, (await problem(response)).code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('of a path that is not there, or has other methods', async () => {
    const missing = await fetch(`${url}/nothing/here`);
    expect([missing.status, (await problem(missing)).code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    const other = await fetch(`${url}/echo?x=1`, { method: 'PUT' });
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await problem(other)).toMatchObject({
      code: 'METHOD_NOT_ALLOWED',
      details: { allowed: ['POST'] },
    });
    const client = await raw('BREW /echo HTTP/1.1\r\nhost: h\r\n\r\n');
    await client.until('HTTP/1.1 400 ');
  });

  it('of a path or method that is not there, before the body is looked at', async () => {
    for (const [path, status] of [
      ['/echo', 405],
      ['/name', 405],
      ['/nothing/here', 404],
    ] as const)
      for (const method of ['PUT', 'PATCH', 'QUERY', 'PROPFIND'])
        for (const headers of [
          [],
          ['content-type: text/csv'],
          ['content-type: nonsense'],
          ['content-type: application/json'],
        ]) {
          const lines = [
            `${method} ${path} HTTP/1.1`,
            'host: h',
            'content-length: 1',
            'connection: close',
            ...headers,
          ];
          const client = await raw(`${lines.join('\r\n')}\r\n\r\n{`);
          await client.untilClosed();
          expect(client.received(), lines.join()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
        }
  });

  it('of a path out of the folder of the documentation, or of a file that is not in it', async () => {
    for (const path of [
      '/docs/static/../../package.json',
      '/docs/static/%2e%2e/%2e%2e/package.json',
      '/docs/static/..%2f..%2fpackage.json',
      '/docs/static/..%5c..%5cpackage.json',
      '/docs/static/%00',
      '/docs/static/nothing.js',
    ]) {
      // fetch would resolve the dots by itself.
      const client = await raw(`GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`);
      expect(await client.until('"request_id"'), path).toMatch(
        /^HTTP\/1.1 404 [\s\S]*"code":"ROUTE_NOT_FOUND"/,
      );
    }
  });

  it('of a path that cannot be read have the headers of every answer', async () => {
    for (const [path, status] of [
      ['/%zz', 400],
      [`/${'x'.repeat(2_000)}`, 414],
    ] as const) {
      const { headers, status: given } = await fetch(url + path);
      expect(given).toBe(status);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('that are no failures of ours are not logged as such', async () => {
    lines.length = 0;
    const client = await raw(
      'POST /echo HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 80\r\n\r\n{"a"',
    );
    client.close();
    await waitFor(() => lines.some((line) => line.includes('given up by the client')));
    expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  it('of a path that only looks like the name of a file', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/known?x=1', 'GET'],
      ['PUT', '/known', 'GET'],
      ['GET', '/echo', 'POST'],
      ['DELETE', '/openapi.json', 'GET'],
    ] as const) {
      const refused = await fetch(url + path, { method, headers: { origin: 'https://app.example.org' } });
      expect([refused.status, refused.headers.get('allow')], path).toEqual([405, allow]);
      expect(await problem(refused)).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
      expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example.org');
    }
    expect(await (await fetch(`${url}/a.jpg`, { method: 'DELETE' })).text()).toBe('a file');
  });
});

describe('OPTIONS', () => {
  it('tells the methods of a path', async () => {
    for (const [path, allow] of [
      ['/echo', 'POST'],
      ['/a.jpg', 'DELETE, GET, HEAD'],
    ]) {
      const answer = await fetch(url + path, { method: 'OPTIONS' });
      expect([answer.status, answer.headers.get('allow')], path).toEqual([204, allow]);
    }
    expect((await fetch(`${url}/nothing/here`, { method: 'OPTIONS' })).status).toBe(404);
  });
});

describe('what is no request', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'INVALID_REQUEST'],
    ['a header without a name', 'GET / HTTP/1.1\r\nhost: h\r\n: x\r\n\r\n', 400, 'INVALID_REQUEST'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, undefined],
    [
      'a header that is too large',
      `GET / HTTP/1.1\r\nhost: h\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    [
      'chunks that are none',
      'POST /echo HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n',
      400,
      'INVALID_REQUEST',
    ],
  ])('%s: is answered, and the connection ends', async (_what, sent, status, code) => {
    const client = await raw(sent);
    await client.untilClosed();
    expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (code !== undefined) {
      expect(client.received()).toContain('content-type: application/problem+json');
      expect(client.received()).toContain(`"code":"${code}"`);
    }
  });

  it('does not get into the answer to the request before it', async () => {
    const client = await raw('GET /stream HTTP/1.1\r\nhost: h\r\n\r\n');
    await client.until('began');
    client.send('nonsense\r\n\r\n');
    await client.untilClosed();
    expect(client.received()).not.toContain('problem');
  });
});

describe('a client that sends without reading', () => {
  it('is cut off before it takes up what others need', async () => {
    const client = await raw('GET /stream HTTP/1.1\r\nhost: h\r\n\r\n'.repeat(33));
    await client.untilClosed();
    expect(app.connections.requests).toBe(0);
  });

  it('may have 32 requests under way', async () => {
    const client = await raw(
      `${'GET /openapi.json HTTP/1.1\r\nhost: h\r\n\r\n'.repeat(31)}GET /last HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`,
    );
    await client.untilClosed();
    expect(client.received().split('HTTP/1.1 200 OK')).toHaveLength(33);
  });
});

describe('bodies', () => {
  it('come after 100 Continue when that is waited for', async () => {
    const client = await raw(
      'POST /echo HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 8\r\nexpect: 100-continue\r\n\r\n',
    );
    await client.until('100 Continue');
    client.send('{"a": 1}');
    expect(await client.until('{"a":1}')).toContain('200 OK');
  });

  it('that come too slowly are cut off', async () => {
    const client = await raw(
      'POST /echo HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 80\r\n\r\n{"a"',
    );
    await client.untilClosed();
    expect(client.received()).toMatch(/^HTTP\/1.1 408 /);
    expect(client.received()).toContain('"code":"REQUEST_TIMEOUT"');
  });
});

describe('every answer', () => {
  it('has the security headers, and an id that nobody can smuggle', async () => {
    for (const path of ['/nothing/here', '/crash', '/openapi.json']) {
      const { headers } = await fetch(url + path, { headers: { 'x-request-id': 'no {spaces}' } });
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('is one line in the log, without its query', async () => {
    lines.length = 0;
    await fetch(`${url}/nothing/here?token=secret`, {
      headers: { 'x-request-id': 'log-me-once', authorization: 'Bearer hidden' },
    });
    const logged = lines.map((line) => JSON.parse(line)).filter((line) => line.requestId === 'log-me-once');
    expect(logged).toMatchObject([{ msg: 'request', method: 'GET', path: '/nothing/here', status: 404 }]);
    expect(lines.join('')).not.toMatch(/secret|hidden/);
  });

  it('may be read by pages of the origins in the configuration, and no others', async () => {
    const from = async (origin: string, method = 'GET') => {
      const headers = { origin, ...(method === 'OPTIONS' && { 'access-control-request-method': 'DELETE' }) };
      return (await fetch(`${url}/openapi.json`, { method, headers })).headers;
    };
    const allowed = await from('https://app.example.org');
    expect(allowed.get('access-control-allow-origin')).toBe('https://app.example.org');
    expect(allowed.get('access-control-expose-headers')).toContain('X-Request-Id');
    expect((await from('https://app.example.org', 'OPTIONS')).get('access-control-allow-methods')).toContain(
      'DELETE',
    );
    for (const method of ['GET', 'OPTIONS'])
      expect((await from('https://evil.example.org', method)).get('access-control-allow-origin')).toBeNull();
  });
});

describe('the description of the API', () => {
  it('is OpenAPI 3.1 with the schemas that validate', async () => {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Stowage', version: '1.2.3' },
      servers: [{ url: 'https://files.example.org' }],
      paths: {
        '/echo': {
          post: {
            requestBody: { content: { 'application/json': { schema: { type: 'object', required: ['a'] } } } },
          },
        },
      },
    });
  });

  it('is browsable, with nothing from elsewhere', async () => {
    const page = await fetch(`${url}/docs/`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
    expect(assets.length).toBeGreaterThan(3);
    for (const path of assets) expect((await fetch(new URL(path, `${url}/docs/`))).status, path).toBe(200);
  });
});
