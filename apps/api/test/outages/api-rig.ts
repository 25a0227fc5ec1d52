import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type DatabaseOptions, openDatabase } from '@stowage/shared/database/open-database.ts';
import { createRenderPool } from '@stowage/shared/images/render-pool.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { createMetrics } from '@stowage/shared/metrics/create-metrics.ts';
import { type ObjectStoreOptions, openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { dependencyChecks } from '@stowage/shared/ops/dependency-checks.ts';
import { openOpsServer } from '@stowage/shared/ops/ops-server.ts';
import { createRelay } from '@stowage/shared/outbox/create-relay.ts';
import { openQueueBackend, type QueueBackendOptions } from '@stowage/shared/queues/open-queue-backend.ts';
import { openTestDatabase } from '../../../../scripts/testing/test-database.ts';
import { makeUser } from '../../../../scripts/testing/test-rows.ts';
import { createPasswords } from '../../src/accounts/passwords.ts';
import { createSigningKeys } from '../../src/accounts/signing-keys.ts';
import { createAccessTokens } from '../../src/accounts/tokens.ts';
import { buildApp } from '../../src/app.ts';
import { createThrottles } from '../../src/http/throttles.ts';
import { openThrottlesStore } from '../../src/http/throttles-store.ts';

const SECRET_KEY = 'a secret of the tests, thirty-two characters';
const PUBLIC_URL = 'http://stowage.test';

export interface ApiRigOptions {
  /** The way to Postgres that the API takes; the test itself takes the direct one. */
  readonly databaseUrl?: (direct: string) => Promise<string>;
  readonly patience?: Partial<DatabaseOptions>;
  readonly store: ObjectStoreOptions;
  readonly queue?: (directDatabase: string) => Promise<QueueBackendOptions>;
}

export type ApiRig = Awaited<ReturnType<typeof openApiRig>>;

/** The whole API with its relay and its ops port, as `main.ts` puts them together. */
export async function openApiRig({ databaseUrl, patience, store, queue }: ApiRigOptions) {
  const database = await openTestDatabase();
  const logger = createLogger({ name: 'test', level: 'silent' });
  const db = openDatabase({
    url: (await databaseUrl?.(database.url)) ?? database.url,
    poolSize: 4,
    applicationName: 'api',
    probeMs: 50,
    onIdleError: () => undefined,
    ...patience,
  });
  const metrics = createMetrics('api');
  const backend = openQueueBackend(
    (await queue?.(database.url)) ?? { kind: 'postgres', databaseUrl: database.url },
    logger,
  );
  const relay = createRelay({
    db,
    backend,
    logger,
    metrics,
    pollMs: 200,
    pauseMs: 50,
    publishDeadlineMs: 500,
  });
  relay.start();
  const objects = openObjectStore(store);
  const checks = dependencyChecks({ db, backend, objectStore: objects });
  const ops = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    logger,
    metrics,
    checks,
    checkDeadlineMs: 500,
  });
  const maxInputPixels = 1_000_000;
  const renderPool = createRenderPool({ children: 1, deadlineMs: 20_000, maxInputPixels, logger });
  const signingKeys = createSigningKeys({ db, secretKey: SECRET_KEY, logger });
  const throttlesStore = openThrottlesStore({ kind: 'postgres', db }, logger);
  const app = await buildApp({
    db,
    objects,
    renderPool,
    signingKeys,
    passwords: createPasswords({ cost: 4, blocklist: false }),
    throttles: createThrottles({ store: throttlesStore, production: false }),
    metrics,
    logger,
    relayKick: relay.kick,
    shutdown: new AbortController().signal,
    settings: {
      version: '0.0.0',
      secretKey: SECRET_KEY,
      publicUrl: PUBLIC_URL,
      corsOrigins: [],
      trustProxy: false,
      signupVerification: 'optional',
      defaultMaxQuotaBytes: 1_000_000_000,
      graphqlIntrospection: true,
      maxFileBytes: 524_288_000,
      allowedTypes: undefined,
      thumbnailWidths: [32],
      maxInputPixels,
      readCacheBytes: 16 * 1024 * 1024,
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const userId = await makeUser(database.db, { maxBytes: 1_000_000_000 });
  const sessionId = randomUUID();
  const later = new Date(Date.now() + 3_600_000);
  await database.db
    .insertInto('sessions')
    .values({ id: sessionId, user_id: userId, idle_expires_at: later, expires_at: later })
    .execute();
  const token = await createAccessTokens({ signingKeys, issuer: PUBLIC_URL }).issue({ userId, sessionId });
  const authorization = `Bearer ${token}`;

  return {
    url,
    userId,
    backend,
    authorization,
    /** The direct way to the database. */
    db: database.db,

    upload(bytes: Uint8Array, fileName = 'a.txt'): Promise<Response> {
      const form = new FormData();
      form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), fileName);
      return fetch(url, { method: 'POST', body: form, headers: { authorization } });
    },

    get: (path: string): Promise<Response> => fetch(`${url}${path}`, { headers: { authorization } }),

    readiness: async () => {
      const response = await fetch(`http://127.0.0.1:${ops.port}/health/ready`);
      const { checks } = (await response.json()) as { checks: Record<string, { state: string }> };
      const failed = Object.entries(checks).filter(([, { state }]) => state !== 'ok');
      return { status: response.status, failed: failed.map(([name]) => name) };
    },

    async close() {
      await app.close();
      await renderPool.close();
      await relay.close();
      await ops.close();
      await objects.close();
      await backend.close();
      await db.destroy();
      await database.close();
    },
  };
}
