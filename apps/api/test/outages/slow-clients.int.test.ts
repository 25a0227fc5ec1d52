import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readBooks } from '../../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { type FilesFixture, openFiles } from '../files-fixture.ts';
import { openRaw, type RawClient, uploadHead } from '../raw-client.ts';

const [store] = objectStores();
const SLOW = 500;
const PATIENCE = { timeoutMs: 60_000 };

let files: FilesFixture;
let clients: RawClient[] = [];
let timer: NodeJS.Timeout;

function closeClients(): void {
  clearInterval(timer);
  for (const client of clients) client.close();
  clients = [];
}
afterEach(closeClients);

/** Opens so many connections that begin in this way and then send a byte a second each. */
async function openSlow(count: number, head: string): Promise<RawClient[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => openRaw(files.port)));
  for (const client of opened) client.send(head);
  clients.push(...opened);
  clearInterval(timer);
  timer = setInterval(() => {
    for (const client of clients) if (!client.isClosed()) client.send('x');
  }, 1_000);
  return opened;
}

describe(`${SLOW} connections that send a byte a second`, { timeout: 120_000 }, () => {
  beforeAll(async () => {
    files = await openFiles({
      store: store!.options,
      // What is cut off after 60 s of fewer than 16 KiB/s is cut off here after 5 s of the same.
      http: { pace: { minBytes: 5 * 16 * 1024, windowMs: 5_000, tickMs: 500 } },
    });
  });
  afterAll(() => files?.close());

  it.each([
    ['in heads', async () => 'GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: '],
    ['in the bodies of uploads', async (token: string) => uploadHead({ token, contentLength: 1_000_000 })],
  ])('%s keep nobody out', async (_where, headOf) => {
    const slowUser = await files.user();
    const user = await files.user();
    const slow = await openSlow(SLOW, await headOf(slowUser.token));
    for (let again = 0; again < 3; again += 1) {
      const stored = await files.upload(user, [{ bytes: Buffer.from('text') }]);
      expect(stored.status).toBe(200);
      expect(await (await fetch(`${files.url}/${await stored.text()}`)).text()).toBe('text');
    }
    expect(slow.filter((client) => !client.isClosed())).toHaveLength(SLOW);
  });

  it('in the bodies of uploads are cut off, and hold nothing afterwards', async () => {
    const user = await files.user();
    const slow = await openSlow(50, uploadHead({ token: user.token, contentLength: 1_000_000 }));
    await waitFor(() => slow.every((client) => client.received().includes('REQUEST_TIMEOUT')), PATIENCE);
    for (const client of slow) expect(client.received()).toMatch(/^HTTP\/1.1 408 /);
    await waitFor(async () => (await readBooks(files.db, user.id)).reserved === 0, PATIENCE);
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 0, uploads: 0 });
  });
});

describe('a server with a bound', () => {
  it('answers 503 with Retry-After beyond so many requests at once, and takes them again later', async () => {
    files = await openFiles({ store: store!.options, http: { mostRequests: 5 } });
    try {
      const user = await files.user();
      const slow = await openSlow(5, uploadHead({ token: user.token, contentLength: 1_000_000 }));
      await waitFor(() => files.app.connections.requests === 5);
      const refused = await fetch(`${files.url}/openapi.json`);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await refused.json()).toMatchObject({ code: 'OVERLOADED' });
      slow[0]?.close();
      await waitFor(async () => (await fetch(`${files.url}/openapi.json`)).status === 200);
    } finally {
      closeClients();
      await files.close();
    }
  });

  it('answers 503 beyond so many uploads of one user, while another one uploads', async () => {
    const uploadPlaces = { places: 3, placesPerUser: 2 };
    files = await openFiles({ store: store!.options, settings: { uploadPlaces } });
    try {
      const [greedy, other] = [await files.user(), await files.user()];
      await openSlow(2, uploadHead({ token: greedy.token, contentLength: 1_000_000 }));
      await waitFor(async () => (await readBooks(files.db, greedy.id)).uploads > 1_900_000);
      const text = [{ bytes: Buffer.from('text') }];
      const refused = await files.upload(greedy, text);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      expect((await files.upload(other, text)).status).toBe(200);
    } finally {
      closeClients();
      await files.close();
    }
  });
});
