import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BODY_PROBLEMS, problems } from '../http/problem-schema.ts';
import { noteCallers, type RequireCaller } from '../http/require-caller.ts';
import { validatorCompiler } from '../http/validation.ts';
import { increaseQuota } from './increase-quota.ts';
import { readQuota } from './read-quota.ts';
import { increaseBody, limitBody, quotaRecordSchema, readQuery, setBody } from './schemas.ts';
import { setLimit } from './set-limit.ts';
import { setQuota } from './set-quota.ts';

export interface QuotaRoutesDeps {
  readonly db: Db;
  readonly requireCaller: RequireCaller;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
}

const describe = (summary: string, ...codes: readonly ErrorCode[]) => ({
  tags: ['quota'],
  security: [{ bearer: [] }],
  summary,
  response: {
    200: quotaRecordSchema,
    ...problems(
      'INVALID_REQUEST',
      'UNAUTHENTICATED',
      'FORBIDDEN',
      'USER_NOT_FOUND',
      'DATABASE_UNAVAILABLE',
      ...codes,
    ),
  },
});

/** GET /quota, POST /quota/increase, /quota/set and /quota/limit. The token is checked before the body is read. */
export async function quotaRoutes(scope: FastifyInstance, deps: QuotaRoutesDeps): Promise<void> {
  const app = scope.withTypeProvider<TypeBoxTypeProvider>();
  const { db, requireCaller, relayKick } = deps;
  const callerOf = noteCallers(app, requireCaller);

  app.setValidatorCompiler(validatorCompiler);
  // Fastify's own parser refuses `__proto__` without naming it; here the schema refuses it like any unknown field.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string) => parseJson(text),
  );

  app.get('/quota', { schema: { ...describe("A user's quota"), querystring: readQuery } }, async (request) =>
    readQuota(db, { caller: callerOf(request), userId: request.query.user_id }),
  );

  app.post(
    '/quota/increase',
    {
      schema: {
        ...describe('Adds to the bytes used', 'QUOTA_EXCEEDED', ...BODY_PROBLEMS),
        body: increaseBody,
      },
    },
    async (request) => {
      const { user_id: userId, additional_bytes: additionalBytes } = request.body;
      const record = await increaseQuota(db, {
        caller: callerOf(request),
        userId,
        additionalBytes,
        requestId: request.id,
      });
      relayKick();
      return record;
    },
  );

  app.post(
    '/quota/set',
    { schema: { ...describe('Sets the bytes used', 'QUOTA_EXCEEDED', ...BODY_PROBLEMS), body: setBody } },
    async (request) => {
      const { user_id: userId, new_quota_bytes: newQuotaBytes } = request.body;
      const record = await setQuota(db, {
        caller: callerOf(request),
        userId,
        newQuotaBytes,
        requestId: request.id,
      });
      relayKick();
      return record;
    },
  );

  app.post(
    '/quota/limit',
    {
      schema: { ...describe("Sets a user's limit; administrators only", ...BODY_PROBLEMS), body: limitBody },
    },
    async (request) =>
      setLimit(db, {
        caller: callerOf(request),
        userId: request.body.user_id,
        maxQuotaBytes: request.body.max_quota_bytes,
      }),
  );
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (error) {
    throw new AppError('INVALID_REQUEST', 'body must be JSON.', {
      details: { field: 'body', rule: 'must be JSON' },
      cause: error,
    });
  }
}
