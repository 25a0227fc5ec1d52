import { readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type GraphQLSchema, NoSchemaIntrospectionCustomRule, parse, validate } from 'graphql';
import { createHandler } from 'graphql-http';
import { serveGraphiql } from './graphiql-page.ts';
import type { GraphqlContext } from './graphql-context.ts';
import { codedError, maskErrors } from './graphql-errors.ts';
import { aliasLimit } from './query-limits/alias-limit.ts';
import { depthLimit } from './query-limits/depth-limit.ts';
import { oneCredentialField } from './query-limits/one-credential-field.ts';
import { createResolvers, type ResolverDeps } from './resolvers.ts';

export type GraphqlEndpointDeps = ResolverDeps & {
  /** Whether introspection and GraphiQL are on. */
  readonly introspection: boolean;
};

const BODY_LIMIT = 64 * 1024;
const MAX_TOKENS = 1_000;
/** GraphQL describes itself. */
const UNDESCRIBED = { hide: true };
const LIMITS = [depthLimit({ depth: 6, introspectionDepth: 15 }), aliasLimit(10), oneCredentialField];

/** What graphql-http refuses without a word. */
const REFUSALS = new Map([
  [406, () => new AppError('NOT_ACCEPTABLE', 'The answer can be application/json only.')],
  [415, () => new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the query as application/json in UTF-8.')],
]);

/** The schema with its resolvers. */
function createSchema(deps: ResolverDeps): GraphQLSchema {
  const typeDefs = readFileSync(new URL('./schema.graphql', import.meta.url), 'utf8');
  return makeExecutableSchema({ typeDefs, resolvers: createResolvers(deps) });
}

/** `/graphql`: queries by POST, as GraphQL over HTTP has it; GraphiQL for browsers. */
export async function graphqlEndpoint(app: FastifyInstance, deps: GraphqlEndpointDeps): Promise<void> {
  const { introspection } = deps;
  const handle = createHandler<FastifyRequest, { reply: FastifyReply }, GraphqlContext>({
    schema: createSchema(deps),
    context: ({ raw, context }) => ({ request: raw, reply: context.reply }),
    parse: (source, options) => parse(source, { ...options, maxTokens: MAX_TOKENS }),
    validate: (schema, document, rules) =>
      // "Did you mean" would give the schema away piece by piece.
      validate(schema, document, rules, { hideSuggestions: !introspection }),
    validationRules: introspection ? LIMITS : [...LIMITS, NoSchemaIntrospectionCustomRule],
    formatError: codedError,
    onOperation: ({ raw }, _args, result) => maskErrors(result, raw.log),
  });

  // graphql-http reads the body itself, and answers each way in which it can be wrong as the specification asks.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: BODY_LIMIT }, (_request, body, done) =>
    done(null, body),
  );

  app.post('/graphql', { bodyLimit: BODY_LIMIT, schema: UNDESCRIBED }, async (request, reply) => {
    const [body, init] = await handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: typeof request.body === 'string' ? request.body : null,
      raw: request,
      context: { reply },
    });
    const refusal = REFUSALS.get(init.status);
    if (refusal !== undefined) throw refusal();
    reply.header('cache-control', 'no-store');
    return reply
      .code(init.status)
      .headers(init.headers ?? {})
      .send(body ?? undefined);
  });

  const sendGraphiql = introspection ? serveGraphiql(app) : undefined;
  app.get<{ Querystring: Record<string, unknown> }>(
    '/graphql',
    { schema: UNDESCRIBED },
    async (request, reply) => {
      const browser = /\btext\/html\b/.test(request.headers.accept ?? '');
      if (sendGraphiql && browser && request.query.query === undefined) return sendGraphiql(reply);
      reply.header('allow', 'POST');
      throw new AppError('METHOD_NOT_ALLOWED', 'Send queries by POST.');
    },
  );
}
