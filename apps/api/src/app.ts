import type { Db } from '@stowage/shared/database/open-database.ts';
import type { RenderPool } from '@stowage/shared/images/render-pool.ts';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import fastify, { type FastifyInstance } from 'fastify';
import type { Passwords } from './accounts/passwords.ts';
import { accountsRoutes } from './accounts/routes.ts';
import type { SigningKeys } from './accounts/signing-keys.ts';
import { createAccessTokens, createRefreshTokens } from './accounts/tokens.ts';
import { type FilesSettings, filesRoutes } from './files/routes.ts';
import { createVerifyAccessToken, requireSession } from './http/authenticate.ts';
import { registerHttp } from './http/register-http.ts';
import { serverOptions } from './http/server-options.ts';
import type { Throttles } from './http/throttles.ts';
import { measureRequests } from './ops/http-metrics.ts';
import { quotaRoutes } from './quota/routes.ts';
import { rootRoute } from './root-route.ts';

export interface AppDeps {
  readonly db: Db;
  readonly objects: ObjectStore;
  readonly renderPool: RenderPool;
  readonly signingKeys: SigningKeys;
  readonly passwords: Passwords;
  readonly throttles: Throttles;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
  /** Aborted, with an AppError, when running uploads may not go on any longer. */
  readonly shutdown: AbortSignal;
  readonly settings: AppSettings;
}

export interface AppSettings extends FilesSettings {
  readonly version: string;
  readonly secretKey: string;
  readonly publicUrl: string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: false | number | readonly string[];
  readonly signupVerification: 'optional' | 'required';
  readonly defaultMaxQuotaBytes: number;
  readonly graphqlIntrospection: boolean;
}

/** The whole HTTP interface. It reads no environment and listens to nothing. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { db, metrics, relayKick, settings } = deps;
  const { secretKey, publicUrl, corsOrigins, trustProxy } = settings;
  const accessTokens = createAccessTokens({ signingKeys: deps.signingKeys, issuer: publicUrl });
  const verifyAccessToken = createVerifyAccessToken(accessTokens);

  const { options, malformed } = serverOptions({
    logger: deps.logger,
    trustProxy: believedProxies(trustProxy),
  });
  const app = fastify(options);
  measureRequests(app, metrics.http);
  const { slowBodies } = await registerHttp(app, {
    malformed,
    publicUrl,
    corsOrigins,
    version: settings.version,
  });

  await app.register(rootRoute, { db, verifyAccessToken });
  await app.register(accountsRoutes, {
    db,
    relayKick,
    secretKey,
    publicUrl,
    corsOrigins,
    verifyAccessToken,
    accessTokens,
    refreshTokens: createRefreshTokens(secretKey),
    signingKeys: deps.signingKeys,
    passwords: deps.passwords,
    throttles: deps.throttles,
    signupVerification: settings.signupVerification,
    defaultMaxQuotaBytes: settings.defaultMaxQuotaBytes,
    introspection: settings.graphqlIntrospection,
  });
  await app.register(quotaRoutes, {
    db,
    relayKick,
    requireCaller: async (request) =>
      requireSession(db, await verifyAccessToken(request.headers.authorization)),
  });
  await app.register(filesRoutes, {
    db,
    relayKick,
    verifyAccessToken,
    slowBodies,
    settings,
    objects: deps.objects,
    renderPool: deps.renderPool,
    uploadMetrics: metrics.uploads,
    shutdown: deps.shutdown,
  });
  return app;
}

function believedProxies(trustProxy: AppSettings['trustProxy']) {
  if (typeof trustProxy === 'number') return (_address: string, hop: number) => hop < trustProxy;
  return trustProxy === false ? false : [...trustProxy];
}
