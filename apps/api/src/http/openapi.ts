import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

const DESCRIPTION = `Stores files, keeps each user's quota to the byte, and serves pictures with thumbnails.

Accounts, logins and tokens are GraphQL: \`POST /graphql\`, with its own documentation at \`GET /graphql\` in a browser.
Every error is \`application/problem+json\` (RFC 9457) with a stable \`code\`. Beside the statuses listed at each
operation any request may be answered with 408 (too slow), 431 (headers too large) or 503 (overloaded, with
Retry-After); a method that a path does not have is answered with 405 and \`Allow\`.`;

/** The page loads nothing from elsewhere, and its styles are set by scripts that are its own. */
const DOCS_CSP = {
  'default-src': "'none'",
  'connect-src': "'self'",
  'font-src': "'self' data:",
  'img-src': "'self' data:",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
};

export interface OpenapiOptions {
  /** How clients reach the API. */
  readonly publicUrl: string;
  readonly version: string;
}

/**
 * Describes all routes that are registered from now on: `/openapi.json` for programs, `/docs` for people. The
 * schemas are those that validate, so the description cannot differ from what happens.
 */
export async function describeRoutes(
  app: FastifyInstance,
  { publicUrl, version }: OpenapiOptions,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Stowage',
        version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl }],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'The accessToken of the GraphQL mutation `login`.',
          },
        },
      },
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_CSP,
    uiConfig: { validatorUrl: null },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}
