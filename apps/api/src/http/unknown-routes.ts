import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from './answer-errors.ts';
import { type KnownRoutes, noteRoutes } from './known-routes.ts';

/**
 * Answers what no route is for: 404 for a path that is not there, 405 for one that has other methods, and OPTIONS.
 * Call it before any route is registered, and before CORS, which takes every OPTIONS for a preflight.
 */
export function answerUnknownRoutes(app: FastifyInstance): KnownRoutes {
  const routes = noteRoutes(app);
  app.setNotFoundHandler((request, reply) => answerUnknown(routes, request, reply));
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method !== 'OPTIONS' || isPreflight(request)) return done();
    answerUnknown(routes, request, reply);
  });
  return routes;
}

/**
 * `/quota` has no DELETE, but the router would find that of `/:name` for it. And what no route is for is answered
 * before its body is looked at. Call it after CORS, so that pages of other origins may read the answer.
 */
export function refuseOtherMethods(app: FastifyInstance, routes: KnownRoutes): void {
  app.addHook('onRequest', (request, reply, done) => {
    const path = pathOf(request);
    const isRouted = !routes.isFixed(path) || request.routeOptions.url === path;
    if (isRouted && !request.is404) return done();
    answerUnknown(routes, request, reply);
  });
}

function answerUnknown(routes: KnownRoutes, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = routes.methodsOf(pathOf(request));
  // With the method among them a file of the documentation's page is meant that is not there.
  if (methods.length === 0 || methods.includes(request.method))
    return sendProblem(new AppError('ROUTE_NOT_FOUND', 'There is nothing at this path.'), request, reply);
  reply.header('allow', methods.join(', '));
  if (request.method === 'OPTIONS') return reply.code(204).send();
  return sendProblem(
    new AppError('METHOD_NOT_ALLOWED', `This path has no ${request.method}.`, {
      details: { allowed: methods },
    }),
    request,
    reply,
  );
}

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

function pathOf({ url }: FastifyRequest): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
