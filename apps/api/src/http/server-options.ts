import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import { sendProblem } from './answer-errors.ts';
import { createMalformedRequests, type MalformedRequests } from './malformed-requests.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** How long the head of a request may take, in ms. */
const HEADERS_TIMEOUT = 30_000;
/** How often connections are looked through for such that take longer. */
const LOOK_INTERVAL = 5_000;

/** A connection on which nothing moves, ms. Longer than the object store may take to put a large upload together. */
const IDLE_TIMEOUT = 180_000;

export interface ServerOptions {
  readonly logger: FastifyBaseLogger;
  readonly trustProxy: NonNullable<FastifyServerOptions['trustProxy']>;
  /** ms. Default 30,000. */
  readonly headersTimeout?: number;
}

/** Longest path parameter; a longer one is 414. */
const MAX_PARAM_LENGTH = 1_024;

/** Largest body that is parsed in memory. Uploads are not. */
const BODY_LIMIT = 64 * 1024;

/** Request ids of a caller (a proxy in front, mostly) are taken over when they are harmless in a log. */
const SANE_REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/** The options of the Fastify instance that the routes are registered on. */
export function serverOptions({ logger, trustProxy, headersTimeout = HEADERS_TIMEOUT }: ServerOptions): {
  options: FastifyHttpOptions<Server>;
  malformed: MalformedRequests;
} {
  const malformed = createMalformedRequests();
  return {
    malformed,
    options: {
      loggerInstance: logger,
      // `logRequests` writes the one line of a request.
      logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
      trustProxy,
      genReqId: requestIdOf,
      bodyLimit: BODY_LIMIT,
      routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
      exposeHeadRoutes: false,
      connectionTimeout: IDLE_TIMEOUT,
      http: { headersTimeout, connectionsCheckingInterval: Math.min(LOOK_INTERVAL, headersTimeout) },
      // While it closes, requests on open connections are still answered, the last one with `Connection: close`.
      return503OnClosing: false,
      clientErrorHandler: malformed.onClientError,
      frameworkErrors: (error, request, reply) => {
        // The hook that sets them for all others has not run.
        reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
        sendProblem(error, request, reply);
      },
    },
  };
}

function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}
