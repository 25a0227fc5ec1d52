import { AppError } from '@stowage/shared/errors/app-error.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBooks } from '../../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { type StopOptions, stopServer } from '../../src/http/stop-server.ts';
import { type FilesFixture, openFiles, type Uploader } from '../files-fixture.ts';
import { openRaw, type RawClient, uploadBody, uploadHead } from '../raw-client.ts';

const [store] = objectStores();
const PROMPT = { drainMs: 0, graceMs: 20_000, lingerMs: 100 };
const NEVER = 60_000;

let files: FilesFixture;
let user: Uploader;
let clients: RawClient[];

beforeEach(async () => {
  clients = [];
  files = await openFiles({ store: store!.options });
  user = await files.user();
});
afterEach(async () => {
  for (const client of clients) client.close();
  await files.close();
});

function stop(options: Partial<StopOptions> = {}): { stopped: Promise<void>; isStopped: () => boolean } {
  let ended = false;
  const { connections } = files.app;
  const stopped = stopServer(files.app, {
    connections,
    shutdown: files.shutdown,
    ...PROMPT,
    ...options,
  }).finally(() => {
    ended = true;
  });
  return { stopped, isStopped: () => ended };
}

async function connected(): Promise<RawClient> {
  const client = await openRaw(files.port);
  clients.push(client);
  return client;
}

/** An upload of which half has arrived, and the other half. */
async function halfUpload(bytes = 100_000): Promise<{ client: RawClient; rest: string }> {
  const body = uploadBody('x'.repeat(bytes));
  const client = await connected();
  client.send(uploadHead({ token: user.token, contentLength: body.length }));
  client.send(body.slice(0, body.length / 2));
  await waitFor(async () => (await readBooks(files.db, user.id)).uploads > 0);
  return { client, rest: body.slice(body.length / 2) };
}

const request = 'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n';

describe('a server that is told to stop', () => {
  it('takes new connections until the drain is over, and each answer ends its connection', async () => {
    const kept = await connected();
    kept.send(request);
    expect(await kept.until('\r\n\r\n')).toMatch(/connection: keep-alive/i);
    const { stopped } = stop({ drainMs: NEVER });
    const late = await connected();
    for (const client of [kept, late]) {
      client.forget();
      client.send(request);
      const answer = await client.until('\r\n\r\n');
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
      expect(answer).toMatch(/connection: close/i);
      await client.untilClosed();
    }
    // Nobody is left: there is nothing to wait for.
    await stopped;
  });

  it('lets running uploads finish, and takes no new connection meanwhile', async () => {
    const { client, rest } = await halfUpload();
    const { stopped, isStopped } = stop();
    await waitFor(async () => {
      const refused = await fetch(files.url).then(
        () => false,
        () => true,
      );
      return refused;
    });
    expect(isStopped()).toBe(false);
    client.send(rest);
    const answer = await client.until('.txt');
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).toMatch(/connection: close/i);
    await stopped;
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 100_000, reserved: 0, uploads: 0 });
  });

  it('cuts off the uploads that outlast the grace: 503, nothing charged, and the sweep is told', async () => {
    const { client } = await halfUpload();
    const { stopped } = stop({ graceMs: 300 });
    const answer = await client.until('SHUTTING_DOWN');
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer).toMatch(/retry-after: \d/i);
    await stopped;
    await client.untilClosed();
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 0, files: 0, reserved: 0 });
    const rows = await files.db
      .selectFrom('uploads')
      .select('state')
      .where('user_id', '=', user.id)
      .execute();
    expect(rows.map(({ state }) => state)).not.toContain('open');
  });

  it.each(['keep-alive', 'close'])(
    'does not wait for the rest of a body that it has cut off (connection: %s)',
    async (connection) => {
      const client = await connected();
      const headers = [`connection: ${connection}`];
      client.send(uploadHead({ token: user.token, contentLength: 9_000_000, headers }));
      client.send(uploadBody('x'.repeat(1_000_000)).slice(0, 1_000_000));
      await waitFor(async () => (await readBooks(files.db, user.id)).uploads > 0);
      await stop({ graceMs: 300, cutMs: NEVER }).stopped;
      await client.untilClosed();
      expect(client.received()).toContain('SHUTTING_DOWN');
    },
  );

  it('does not wait for the rest of a refused body, however it is closed', async () => {
    const client = await connected();
    client.send(uploadHead({ contentLength: 9_000_000, headers: ['connection: close'] }));
    await client.until('UNAUTHENTICATED');
    const cutOff = await connected();
    cutOff.send(uploadHead({ token: user.token, contentLength: 9_000_000 }));
    await waitFor(async () => (await readBooks(files.db, user.id)).uploads > 0);
    const closed = files.app.close();
    files.shutdown.abort(new AppError('SHUTTING_DOWN', 'The server is being stopped. Try again.'));
    await closed;
    await client.untilClosed();
    expect(await cutOff.until('SHUTTING_DOWN')).toMatch(/^HTTP\/1.1 503 /);
  });

  it('waits neither for connections without a request, nor for readers that do not read', async () => {
    const name = await (await files.upload(user, [{ bytes: Buffer.alloc(30_000_000, 'x') }])).text();
    const silent = await connected();
    const slow = await connected();
    slow.send('GET / HTT');
    const reader = await connected();
    reader.send(`GET /${name} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await reader.until('200 OK');
    reader.socket.pause();
    const { stopped } = stop({ graceMs: 500, cutMs: 100 });
    await stopped;
    await Promise.all([silent.untilClosed(), slow.untilClosed()]);
  });

  it('ends a connection whose answer had already begun once that answer is complete', async () => {
    const bytes = 30_000_000;
    const name = await (await files.upload(user, [{ bytes: Buffer.alloc(bytes, 'x') }])).text();
    const reader = await connected();
    reader.send(`GET /${name} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await reader.until('200 OK');
    reader.socket.pause();
    const { stopped, isStopped } = stop();
    await waitFor(() => !files.app.server.listening);
    expect(isStopped()).toBe(false);
    reader.socket.resume();
    await stopped;
    await reader.untilClosed();
    expect(reader.received().length).toBeGreaterThan(bytes);
  });
});
