import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSigningKeys } from '../../apps/api/src/accounts/signing-keys.ts';
import { createAccessTokens } from '../../apps/api/src/accounts/tokens.ts';
import { makePicture } from '../testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { faultsInBooks, makeUser, readBooks } from '../testing/test-rows.ts';
import { waitFor } from '../testing/wait-for.ts';
import { type Balancer, openBalancer } from './balancer.ts';
import { type StartedProcess, startProcess } from './started-process.ts';

const PUBLIC_URL = 'http://stowage.test';
const SECRET_KEY = 'a secret of the tests, thirty-two characters';
const API = 'apps/api/src/main.ts';
const WORKERS = ['thumbnails', 'quota-accounting', 'cleanup', 'mail'].map(
  (name) => `workers/${name}/src/main.ts`,
);
const CLIENTS = 4;

let database: TestDatabase;
let folder: string;
let balancer: Balancer;
let env: Record<string, string>;
const running = new Set<StartedProcess>();

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-rolling-'));
  balancer = await openBalancer();
  env = {
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '4',
    DATA_DIR: folder,
    SECRET_KEY,
    PUBLIC_URL,
    THUMBNAIL_WIDTHS: '32',
    THUMBNAILS_CONCURRENCY: '1',
    SHUTDOWN_GRACE_SECONDS: '60',
    // Longer than any client here pauses between two requests, on a busy machine too; it is over when all have left.
    SHUTDOWN_DRAIN_SECONDS: '15',
  };
});
afterAll(async () => {
  for (const started of running) started.kill('SIGKILL');
  await Promise.all([...running].map(({ ended }) => ended));
  await balancer?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(main: string): Promise<StartedProcess> {
  const started = await startProcess(main, env);
  running.add(started);
  return started;
}

async function stop(started: StartedProcess): Promise<void> {
  started.kill('SIGTERM');
  expect(await started.ended, started.output()).toBe(0);
  running.delete(started);
}

async function uploader(): Promise<{ id: string; token: string }> {
  const { db } = database;
  const id = await makeUser(db, { maxBytes: 1_000_000_000 });
  const sessionId = randomUUID();
  const later = new Date(Date.now() + 3_600_000);
  await db
    .insertInto('sessions')
    .values({ id: sessionId, user_id: id, idle_expires_at: later, expires_at: later })
    .execute();
  const logger = createLogger({ name: 'test', level: 'silent' });
  const signingKeys = createSigningKeys({ db, secretKey: SECRET_KEY, logger });
  const tokens = createAccessTokens({ signingKeys, issuer: PUBLIC_URL });
  return { id, token: await tokens.issue({ userId: id, sessionId }) };
}

/** Uploads and reads over connections that are kept open, as a service behind a balancer would. */
class Client {
  readonly stored: { name: string; size: number; sha256: string }[] = [];
  readonly failures: string[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #token: string;
  readonly #picture: Buffer;

  constructor(token: string, picture: Buffer) {
    this.#token = token;
    this.#picture = picture;
  }

  async run(isOver: () => boolean): Promise<void> {
    for (let turn = 0; !isOver(); turn += 1) {
      const bytes = turn % 4 === 0 ? this.#picture : Buffer.from(randomBytes(20_000).toString('hex'));
      await this.#upload(bytes, turn % 4 === 0 ? 'a.png' : 'a.txt');
      const [known] = this.stored;
      if (known !== undefined) await this.#read(known);
    }
    this.#agent.destroy();
  }

  async #upload(bytes: Buffer, fileName: string): Promise<void> {
    const head = `--b\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]);
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'multipart/form-data; boundary=b',
    };
    const answer = await this.#send('POST', '/', headers, body);
    if (answer?.status === 200)
      this.stored.push({ name: answer.body.toString(), size: bytes.length, sha256: hashOf(bytes) });
  }

  async #read({ name, sha256 }: { name: string; sha256: string }): Promise<void> {
    const answer = await this.#send('GET', `/${name}`, {});
    if (answer?.status === 200 && hashOf(answer.body) !== sha256)
      this.failures.push(`${name} reads differently`);
  }

  async #send(method: string, path: string, headers: Record<string, string>, body?: Buffer) {
    try {
      const answer = await new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
        const { port } = balancer;
        const sent = request({ method, path, headers, port, agent: this.#agent }, (response) => {
          buffer(response).then((all) => resolve({ status: response.statusCode ?? 0, body: all }), reject);
        });
        sent.on('error', reject);
        sent.end(body);
      });
      if (answer.status !== 200) this.failures.push(`${method} ${path}: ${answer.status} ${answer.body}`);
      return answer;
    } catch (error) {
      this.failures.push(`${method} ${path}: ${String(error)}`);
      return undefined;
    }
  }
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

it('a rolling restart of every process under load loses no request', { timeout: 240_000 }, async () => {
  const apis = [await start(API), await start(API)];
  const workers = new Map<string, StartedProcess>();
  for (const main of WORKERS) workers.set(main, await start(main));
  balancer.use(apis);

  const user = await uploader();
  const picture = await makePicture({ width: 64, height: 64, format: 'png' });
  const clients = Array.from({ length: CLIENTS }, () => new Client(user.token, picture));
  let isOver = false;
  const load = Promise.all(clients.map((client) => client.run(() => isOver)));
  const storedBy = () => clients.map((client) => client.stored.length);
  /** Until each client has stored something since. */
  const goOn = async () => {
    const before = storedBy();
    await waitFor(() => storedBy().every((count, i) => count > (before[i] ?? 0)), { timeoutMs: 60_000 });
  };

  await goOn();
  for (const index of apis.keys()) {
    await stop(apis[index]!);
    await goOn();
    apis[index] = await start(API);
    balancer.use([...apis]);
    await goOn();
  }
  for (const [main, started] of workers) {
    await stop(started);
    await goOn();
    workers.set(main, await start(main));
  }
  await goOn();
  isOver = true;
  await load;

  expect(clients.flatMap((client) => client.failures)).toEqual([]);
  const stored = clients.flatMap((client) => client.stored);
  const { db } = database;
  await waitFor(async () => (await db.selectFrom('outbox').select('id').limit(1).execute()).length === 0, {
    timeoutMs: 60_000,
  });
  expect(await readBooks(db, user.id)).toMatchObject({
    stored: stored.reduce((sum, { size }) => sum + size, 0),
    reserved: 0,
    uploads: 0,
    unposted: 0,
  });
  expect(await faultsInBooks(db, user.id)).toEqual([]);
  const pictures = await db
    .selectFrom('files')
    .select('render_state')
    .where('extension', '=', 'png')
    .execute();
  expect(new Set(pictures.map(({ render_state }) => render_state))).toEqual(new Set(['rendered']));
  for (const started of [...apis, ...workers.values()]) await stop(started);
});
