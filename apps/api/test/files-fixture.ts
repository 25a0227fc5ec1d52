import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { type ObjectStoreOptions, openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import Fastify, { type FastifyBaseLogger } from 'fastify';
import { openTestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeUser } from '../../../scripts/testing/test-rows.ts';
import { createSigningKeys } from '../src/accounts/signing-keys.ts';
import { createAccessTokens } from '../src/accounts/tokens.ts';
import { type FilesSettings, filesRoutes } from '../src/files/routes.ts';
import { createVerifyAccessToken } from '../src/http/authenticate.ts';
import { type HttpOptions, registerHttp } from '../src/http/register-http.ts';
import { serverOptions } from '../src/http/server-options.ts';

const ISSUER = 'http://127.0.0.1:3000';

export interface FilesFixtureOptions {
  readonly store: ObjectStoreOptions;
  readonly settings?: Partial<FilesSettings>;
  readonly http?: Partial<HttpOptions>;
  /** Stands between the API and the store. */
  readonly wrapStore?: (store: ObjectStore) => ObjectStore;
}

export type FilesFixture = Awaited<ReturnType<typeof openFiles>>;

/** Who uploads in a test. */
export interface Uploader {
  readonly id: string;
  readonly token: string;
  readonly sessionId: string;
}

/** The file routes on a listening server, with a database of their own and a real object store. */
export async function openFiles({ store, settings, http, wrapStore }: FilesFixtureOptions) {
  const database = await openTestDatabase();
  const { db } = database;
  const real = openObjectStore(store);
  const objects = wrapStore?.(real) ?? real;
  const lines: string[] = [];
  const logger = createLogger({
    name: 'test',
    level: 'debug',
    destination: { write: (line: string) => lines.push(line) },
  });
  const signingKeys = createSigningKeys({
    db,
    secretKey: 'a secret of the tests, thirty-two characters',
    logger,
  });
  const accessTokens = createAccessTokens({ signingKeys, issuer: ISSUER });
  const renderPool = createRenderPool({
    children: 1,
    deadlineMs: 20_000,
    maxInputPixels: 100_000_000,
    logger,
  });
  const shutdown = new AbortController();
  let kicks = 0;

  const { options, malformed } = serverOptions({ logger: logger as FastifyBaseLogger, trustProxy: false });
  const app = Fastify(options);
  const { slowBodies } = await registerHttp(app, {
    malformed,
    publicUrl: ISSUER,
    corsOrigins: [],
    version: '0.0.0',
    ...http,
  });
  await app.register(filesRoutes, {
    db,
    objects,
    renderPool,
    verifyAccessToken: createVerifyAccessToken(accessTokens),
    slowBodies,
    uploadMetrics: createMetrics('test').uploads,
    relayKick: () => {
      kicks += 1;
    },
    shutdown: shutdown.signal,
    settings: {
      maxFileBytes: 524_288_000,
      allowedTypes: undefined,
      thumbnailWidths: [64, 128],
      maxInputPixels: 100_000_000,
      readCacheBytes: 16 * 1024 * 1024,
      ...settings,
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  return {
    app,
    db,
    url,
    port,
    databaseName: new URL(database.url).pathname.slice(1),
    lines,
    objects,
    shutdown,
    accessTokens,
    kicks: () => kicks,

    /** A user with a session. */
    async user({ maxBytes = 1_000_000_000, role = 'user' as 'user' | 'admin' } = {}): Promise<Uploader> {
      const id = await makeUser(db, { maxBytes, role });
      const sessionId = randomUUID();
      const later = new Date(Date.now() + 3_600_000);
      await db
        .insertInto('sessions')
        .values({ id: sessionId, user_id: id, idle_expires_at: later, expires_at: later })
        .execute();
      return { id, sessionId, token: await accessTokens.issue({ userId: id, sessionId }) };
    },

    /** Uploads the files as a browser would. */
    upload(
      user: Uploader,
      files: readonly TestFile[],
      headers: Record<string, string> = {},
    ): Promise<Response> {
      const form = new FormData();
      for (const { name = 'file', fileName = 'a.txt', bytes } of files)
        form.append(name, new Blob([bytes as Uint8Array<ArrayBuffer>]), fileName);
      return fetch(`${url}/`, {
        method: 'POST',
        body: form,
        headers: { authorization: `Bearer ${user.token}`, ...headers },
      });
    },

    /** The same without an announced length. */
    async uploadChunked(user: Uploader, files: readonly TestFile[]): Promise<Response> {
      const form = new FormData();
      for (const { name = 'file', fileName = 'a.txt', bytes } of files)
        form.append(name, new Blob([bytes as Uint8Array<ArrayBuffer>]), fileName);
      const { headers, body } = new Response(form);
      return fetch(`${url}/`, {
        method: 'POST',
        body,
        duplex: 'half',
        headers: {
          authorization: `Bearer ${user.token}`,
          'content-type': headers.get('content-type') ?? '',
        },
      } as RequestInit);
    },

    /** Sends bytes as they are and gives all that comes back until the server closes or `done` says so. */
    raw(
      parts: readonly (string | Uint8Array)[],
      done = (text: string) => text.includes('\r\n\r\n'),
    ): Promise<string> {
      return new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1');
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1');
          if (done(text)) {
            socket.destroy();
            resolve(text);
          }
        });
        socket.on('close', () => resolve(text));
        socket.on('error', reject);
        for (const part of parts) socket.write(part);
      });
    },

    async close() {
      await app.close();
      await renderPool.close();
      await real.close();
      await database.close();
    },
  };
}

export interface TestFile {
  readonly bytes: Uint8Array;
  readonly fileName?: string;
  /** Of the part. */
  readonly name?: string;
}
