import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toAppError } from './framework-errors.ts';
import { noteRoutes } from './known-routes.ts';
import { problemOf } from './problem-details.ts';

/** Answers every failure of a request with problem details. Call it before any route is registered. */
export function answerErrors(app: FastifyInstance): void {
  const routes = noteRoutes(app);

  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));

  app.setNotFoundHandler((request, reply) => {
    const [path = '/'] = request.url.split('?');
    const methods = routes.methodsOf(path);
    if (methods.length === 0)
      return sendProblem(new AppError('ROUTE_NOT_FOUND', 'There is nothing at this path.'), request, reply);
    reply.header('allow', methods.join(', '));
    return sendProblem(
      new AppError('METHOD_NOT_ALLOWED', `This path has no ${request.method}.`, {
        details: { allowed: methods },
      }),
      request,
      reply,
    );
  });
}

/** Sends the answer to a failure, and logs one that is ours with its cause. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toAppError(error);
  const { status, headers, body } = problemOf(known, request.id);
  if (status >= 500) request.log.error({ err: known }, 'request failed');
  else request.log.debug({ code: known.code, cause: known.cause }, 'request refused');
  return reply
    .code(status)
    .headers(headers)
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body);
}
