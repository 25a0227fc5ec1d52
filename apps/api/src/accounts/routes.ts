import type { FastifyInstance } from 'fastify';
import { type GraphqlEndpointDeps, graphqlEndpoint } from './graphql-endpoint.ts';
import { createTurns } from './one-at-a-time.ts';
import { createRefreshCookie } from './refresh-cookie.ts';
import type { SigningKeys } from './signing-keys.ts';

export type AccountsRoutesDeps = Omit<
  GraphqlEndpointDeps,
  'refreshCookie' | 'allowedOrigins' | 'loginTurns'
> & {
  readonly signingKeys: SigningKeys;
  readonly publicUrl: string;
  readonly corsOrigins: readonly string[];
};

const JWKS_SCHEMA = { tags: ['users'], summary: 'The public keys of access tokens (RFC 7517)' };

/** POST and GET /graphql, and GET /.well-known/jwks.json. */
export async function accountsRoutes(app: FastifyInstance, deps: AccountsRoutesDeps): Promise<void> {
  await app.register(graphqlEndpoint, {
    ...deps,
    loginTurns: createTurns(),
    refreshCookie: createRefreshCookie(deps.publicUrl),
    allowedOrigins: new Set([new URL(deps.publicUrl).origin, ...deps.corsOrigins]),
  });

  app.get('/.well-known/jwks.json', { schema: JWKS_SCHEMA }, async (_request, reply) => {
    // Keys are published a day before they sign, so a copy of five minutes is never too old.
    reply.header('cache-control', 'public, max-age=300').type('application/json');
    return { keys: await deps.signingKeys.published() };
  });
}
