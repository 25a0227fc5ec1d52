import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import type { FastifyInstance } from 'fastify';
import { openTestDatabase } from '../../../../scripts/testing/test-database.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { ensureAdministrator } from '../../src/accounts/ensure-administrator.ts';
import { createPasswords, type Passwords } from '../../src/accounts/passwords.ts';
import { createSigningKeys } from '../../src/accounts/signing-keys.ts';
import { type AppDeps, type AppSettings, buildApp } from '../../src/app.ts';
import { createThrottles, NO_THROTTLES } from '../../src/http/throttles.ts';
import { openThrottlesStore } from '../../src/http/throttles-store.ts';
import { openRaw, type RawClient } from '../raw-client.ts';

export const SECRET_KEY = 'the-secret-key-of-the-hostile-tests-0123456789';
export const PASSWORD = 'correct horse battery staple';

export type Service = Awaited<ReturnType<typeof openService>>;

export interface ServiceOptions {
  readonly settings?: Partial<AppSettings>;
  /** API processes on the same database. */
  readonly processes?: number;
  readonly throttles?: boolean;
}

/** Somebody with a session. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly token: string;
  readonly refreshToken: string;
  readonly auth: { readonly authorization: string };
}

export interface Process {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly port: number;
}

/** The whole HTTP interface as strangers meet it: listening, with everything behind it but the queue. */
export async function openService(options: ServiceOptions = {}) {
  const database = await openTestDatabase();
  const { db } = database;
  const folder = mkdtempSync(join(tmpdir(), 'stowage-hostile-'));
  const objects = openObjectStore({ kind: 'filesystem', folder });
  const lines: string[] = [];
  const logger = createLogger({
    name: 'api',
    level: 'trace',
    destination: { write: (line: string) => lines.push(line) },
  });
  const metrics = createMetrics('api');
  const renderPool = createRenderPool({
    children: 2,
    deadlineMs: 20_000,
    maxInputPixels: 100_000_000,
    logger,
  });
  const counted = countHashes(createPasswords({ cost: 4, blocklist: true }));
  const store = openThrottlesStore({ kind: 'postgres', db }, logger);
  const throttles = options.throttles ? createThrottles({ store, production: true }) : NO_THROTTLES;
  const clients: RawClient[] = [];

  const deps: Omit<AppDeps, 'signingKeys'> = {
    db,
    objects,
    renderPool,
    throttles,
    metrics,
    logger,
    passwords: counted.passwords,
    relayKick: () => undefined,
    shutdown: new AbortController().signal,
    settings: {
      version: '0.0.0',
      secretKey: SECRET_KEY,
      publicUrl: 'http://127.0.0.1:3000',
      corsOrigins: [],
      trustProxy: false,
      signupVerification: 'optional',
      defaultMaxQuotaBytes: 10_000_000,
      graphqlIntrospection: true,
      maxFileBytes: 1_000_000,
      allowedTypes: undefined,
      thumbnailWidths: [64, 128],
      maxInputPixels: 100_000_000,
      readCacheBytes: 16 * 1024 * 1024,
      ...options.settings,
    },
  };
  const processes: Process[] = [];
  for (let count = 0; count < (options.processes ?? 1); count += 1) {
    // Each has keys and caches of its own, as processes have.
    const signingKeys = createSigningKeys({ db, secretKey: deps.settings.secretKey, logger });
    const app = await buildApp({ ...deps, signingKeys });
    await app.listen({ host: '127.0.0.1', port: 0 });
    // It listens on TCP.
    const { port } = app.server.address() as AddressInfo;
    processes.push({ app, port, url: `http://127.0.0.1:${port}` });
  }
  const [{ url, port }] = processes as [Process];

  async function graphql(query: string, variables: unknown = {}, headers: Record<string, string> = {}) {
    return fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
    });
  }

  /** As `graphql`, and again while a busy machine makes the service refuse all that comes. */
  const patientGraphql = (query: string, variables: unknown) =>
    waitFor(async () => {
      const answer = await graphql(query, variables);
      return answer.status === 503 ? undefined : answer;
    });

  async function logIn(email: string, password = PASSWORD): Promise<Person> {
    const answer = await patientGraphql(
      'mutation ($params: LoginInput!) { login(params: $params) { accessToken refreshToken user { id } } }',
      { params: { email, password } },
    );
    const { login } = (await jsonOf(answer)).data;
    return {
      email,
      id: login.user.id,
      token: login.accessToken,
      refreshToken: login.refreshToken,
      auth: { authorization: `Bearer ${login.accessToken}` },
    };
  }

  return {
    db,
    url,
    port,
    lines,
    metrics,
    objects,
    processes,
    settings: deps.settings,
    graphql,
    logIn,
    /** Passwords that were hashed or compared so far. */
    hashes: counted.count,

    /** A new user, logged in. */
    async person(name = 'somebody'): Promise<Person> {
      const email = `${name}-${randomUUID()}@example.org`;
      await patientGraphql(
        'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }',
        { params: { email, password: PASSWORD } },
      );
      return logIn(email);
    },

    async administrator(): Promise<Person> {
      const email = `admin-${randomUUID()}@example.org`;
      const { defaultMaxQuotaBytes } = deps.settings;
      await ensureAdministrator(
        { db, passwords: counted.passwords, defaultMaxQuotaBytes },
        { email, password: PASSWORD },
      );
      return logIn(email);
    },

    /** Stores one file, and gives its name. */
    async store(person: Person, bytes: Uint8Array | string, fileName = 'a.txt'): Promise<string> {
      const form = new FormData();
      form.append('file', new Blob([bytes as string | Uint8Array<ArrayBuffer>]), fileName);
      const answer = await fetch(`${url}/`, { method: 'POST', body: form, headers: person.auth });
      if (answer.status !== 200) throw new Error(await answer.text());
      return answer.text();
    },

    /** Sends bytes as they are. */
    async raw(sent: string | Uint8Array): Promise<RawClient> {
      const client = await openRaw(port);
      clients.push(client);
      client.send(sent);
      return client;
    },

    async close() {
      for (const client of clients) client.close();
      for (const { app } of processes) await app.close();
      await renderPool.close();
      await store.close();
      await objects.close();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function countHashes(passwords: Passwords) {
  let hashes = 0;
  const counting: Passwords = {
    fault: (password) => passwords.fault(password),
    hash: (password) => {
      hashes += 1;
      return passwords.hash(password);
    },
    matches: (...input) => {
      hashes += 1;
      return passwords.matches(...input);
    },
  };
  return { passwords: counting, count: () => hashes };
}

/** The body, as the test expects it to be. */
export async function jsonOf(answer: Response) {
  return JSON.parse(await answer.text());
}

/** Status and code of a refusal. */
export async function refusal(answer: Response): Promise<[status: number, code: string]> {
  return [answer.status, (await jsonOf(answer)).code];
}
