import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { validatorCompiler } from '../http/validation.ts';
import { increaseQuota } from './increase-quota.ts';
import type { QuotaCaller } from './quota-caller.ts';
import { readQuota } from './read-quota.ts';
import { increaseBody, limitBody, quotaRecordSchema, readQuery, setBody } from './schemas.ts';
import { setLimit } from './set-limit.ts';
import { setQuota } from './set-quota.ts';

export interface QuotaRoutesDeps {
  readonly db: Db;
  /** Who asks; throws `UNAUTHENTICATED`. */
  readonly requireCaller: (request: FastifyRequest) => Promise<QuotaCaller>;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
}

const options = (summary: string) => ({
  tags: ['quota'],
  summary,
  security: [{ bearer: [] }],
  response: { 200: quotaRecordSchema },
});

/** GET /quota, POST /quota/increase, /quota/set and /quota/limit. The token is checked before the body is read. */
export async function quotaRoutes(scope: FastifyInstance, deps: QuotaRoutesDeps): Promise<void> {
  const app = scope.withTypeProvider<TypeBoxTypeProvider>();
  const { db, requireCaller, relayKick } = deps;
  const callers = new WeakMap<FastifyRequest, QuotaCaller>();
  const callerOf = (request: FastifyRequest): QuotaCaller => {
    const caller = callers.get(request);
    if (caller === undefined) throw new AppError('UNAUTHENTICATED', 'A valid access token is needed.');
    return caller;
  };

  app.setValidatorCompiler(validatorCompiler);
  app.addHook('onRequest', async (request) => {
    callers.set(request, await requireCaller(request));
  });
  // Fastify's own parser refuses `__proto__` without naming it; here the schema refuses it like any unknown field.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string) => parseJson(text),
  );

  app.get('/quota', { schema: { ...options("A user's quota."), querystring: readQuery } }, async (request) =>
    readQuota(db, { caller: callerOf(request), userId: request.query.user_id }),
  );

  app.post(
    '/quota/increase',
    { schema: { ...options('Adds to the bytes used.'), body: increaseBody } },
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
    { schema: { ...options('Sets the bytes used.'), body: setBody } },
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
    { schema: { ...options("Sets a user's limit; administrators only."), body: limitBody } },
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
