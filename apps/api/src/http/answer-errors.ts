import type { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toAppError } from './framework-errors.ts';
import { problemOf } from './problem-details.ts';

/** Answers every failure of a request with problem details. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
}

/** Sends the answer to a failure, and logs one that is ours with its cause. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toAppError(error);
  const { status, headers, body } = problemOf(known, request.id);
  if (status >= 500 && !isUnremarkable(known, request)) request.log.error({ err: known }, 'request failed');
  else request.log.debug({ code: known.code, cause: known.cause }, 'request refused');
  return reply
    .code(status)
    .headers(headers)
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body);
}

/**
 * Overload is told by the line of the request: a stack for each refusal would be one more load. A client that goes
 * away in the middle of a body is no failure of ours, and could fill the log.
 */
function isUnremarkable(error: AppError, { raw }: FastifyRequest): boolean {
  return error.code === 'OVERLOADED' || (raw.destroyed && !raw.complete);
}
