import type { Db } from '@stowage/shared/database/open-database.ts';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { readCurrentUser } from './accounts/current-user.ts';
import type { VerifyAccessToken } from './http/authenticate.ts';
import { problems } from './http/problem-schema.ts';

export interface RootRouteDeps {
  readonly db: Db;
  readonly verifyAccessToken: VerifyAccessToken;
}

const currentUserSchema = Type.Object({
  user_id: Type.String({ format: 'uuid' }),
  username: Type.String(),
  token_type: Type.String({ description: 'Always `session`.' }),
  created_at: Type.String({ description: 'When the session began, in decimal Unix seconds.' }),
  last_activity: Type.String({ description: 'When the session was last used, in decimal Unix seconds.' }),
  auth_data: Type.String({ description: 'JSON: {method, role, email, email_verified}.' }),
  device_info: Type.String({ description: 'JSON: {user_agent, browser, os, ip}.' }),
  quota: Type.Object({
    current_quota: Type.Integer({ description: 'Bytes used.' }),
    max_quota: Type.Integer({ description: 'Limit in bytes.' }),
    usage_percentage: Type.Number({ description: 'current_quota / max_quota * 100.' }),
  }),
});

const schema = {
  tags: ['users'],
  summary: 'The health check; with an Authorization header the current user',
  security: [{}, { bearer: [] }],
  response: {
    200: {
      description: '`ok`, or with an Authorization header the current-user record.',
      content: { 'text/plain': { schema: Type.String() }, 'application/json': { schema: currentUserSchema } },
    },
    ...problems('UNAUTHENTICATED', 'DATABASE_UNAVAILABLE'),
  },
};

/** `GET /` is two operations: without an `Authorization` header the health check, with one the current user. */
export async function rootRoute(
  app: FastifyInstance,
  { db, verifyAccessToken }: RootRouteDeps,
): Promise<void> {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    schema,
    handler: async (request, reply) => {
      const { authorization } = request.headers;
      // Whoever may keep an answer must not take one of these for the other.
      reply.header('cache-control', 'no-store').header('vary', 'Authorization');
      if (authorization === undefined) return reply.type('text/plain; charset=utf-8').send('ok');
      return await readCurrentUser(db, await verifyAccessToken(authorization));
    },
  });
}
