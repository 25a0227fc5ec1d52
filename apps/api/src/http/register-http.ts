import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { answerErrors } from './answer-errors.ts';
import { type Connections, trackConnections } from './connections.ts';
import { dropUnreadBodies } from './drop-body.ts';
import { answerExpectations } from './expect-continue.ts';
import type { MalformedRequests } from './malformed-requests.ts';
import { describeRoutes } from './openapi.ts';
import { boundRequests, refuseWhenOverloaded } from './overload.ts';
import { logRequests } from './request-log.ts';
import { setSecurityHeaders } from './security-headers.ts';
import { createSlowBodies, DEFAULT_PACE, type Pace, type SlowBodies } from './slow-bodies.ts';
import { answerUnknownRoutes, refuseOtherMethods } from './unknown-routes.ts';
import { validatorCompiler } from './validation.ts';

export interface HttpOptions {
  /** From `serverOptions`. */
  readonly malformed: MalformedRequests;
  /** How clients reach the API. */
  readonly publicUrl: string;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  readonly version: string;
  /** The slowest bodies that are waited for. */
  readonly pace?: Pace;
  /** How long the rest of a refused body is dropped, in ms. */
  readonly dropBodyMs?: number;
  /** Most requests under way at once; more are answered with 503. */
  readonly mostRequests?: number;
  /** Most open connections; more are closed as they come. */
  readonly mostConnections?: number;
}

const MOST_REQUESTS = 2_000;
const MOST_CONNECTIONS = 5_000;

declare module 'fastify' {
  interface FastifyInstance {
    /** For stopping it in order. */
    readonly connections: Connections;
  }
}

/** What all routes share. Register it before them, on the instance made with `serverOptions`. */
export async function registerHttp(
  app: FastifyInstance,
  options: HttpOptions,
): Promise<{ slowBodies: SlowBodies }> {
  const { malformed, publicUrl, corsOrigins, version } = options;
  app.server.maxConnections = options.mostConnections ?? MOST_CONNECTIONS;
  const connections = trackConnections(app);
  app.decorate('connections', connections);
  answerErrors(app);
  setSecurityHeaders(app, { https: publicUrl.startsWith('https:') });
  app.addHook('onSend', (request, _reply, payload, done) => {
    malformed.responding.add(request.raw.socket);
    done(null, payload);
  });
  app.addHook('onResponse', (request, _reply, done) => {
    malformed.responding.delete(request.raw.socket);
    done();
  });
  logRequests(app);
  const routes = answerUnknownRoutes(app);
  if (corsOrigins.length > 0)
    await app.register(cors, {
      origin: [...corsOrigins],
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'DELETE'],
      exposedHeaders: ['ETag', 'Content-Range', 'Content-Disposition', 'Retry-After', 'X-Request-Id'],
      maxAge: 600,
    });
  refuseOtherMethods(app, routes);
  boundRequests(app, connections, options.mostRequests ?? MOST_REQUESTS);
  await refuseWhenOverloaded(app);
  answerExpectations(app);
  const slowBodies = createSlowBodies(app, options.pace ?? DEFAULT_PACE);
  dropUnreadBodies(app, options.dropBodyMs);
  app.setValidatorCompiler(validatorCompiler);
  await describeRoutes(app, { publicUrl, version });
  return { slowBodies };
}
