import type { AddressInfo } from 'node:net';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import Fastify, { type FastifyBaseLogger } from 'fastify';
import { expect, it } from 'vitest';
import { registerHttp } from '../../src/http/register-http.ts';
import { serverOptions } from '../../src/http/server-options.ts';
import { openRaw } from '../raw-client.ts';

it('a head that comes too slowly is answered 408 and cut off', async () => {
  const logger: FastifyBaseLogger = createLogger({ name: 'test', level: 'silent' });
  const { options, malformed } = serverOptions({ logger, trustProxy: false, headersTimeout: 300 });
  const app = Fastify(options);
  await registerHttp(app, { malformed, publicUrl: 'http://stowage.test', corsOrigins: [], version: '0.0.0' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const client = await openRaw((app.server.address() as AddressInfo).port);
  const timer = setInterval(() => client.send('x'), 50);
  try {
    client.send('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    expect(await client.until('REQUEST_TIMEOUT')).toMatch(/^HTTP\/1.1 408 /);
    await client.untilClosed();
  } finally {
    clearInterval(timer);
    client.close();
    await app.close();
  }
});
