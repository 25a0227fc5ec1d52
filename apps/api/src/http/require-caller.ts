import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Who may act on files and quotas. */
export interface RequestCaller {
  readonly userId: string;
  readonly role: 'user' | 'admin';
}

/** Who makes a request; throws `UNAUTHENTICATED`. */
export type RequireCaller = (request: FastifyRequest) => Promise<RequestCaller>;

/** Lets nobody into the scope without a living session, before a body is read. Returns who makes a request. */
export function noteCallers(
  scope: FastifyInstance,
  requireCaller: RequireCaller,
): (request: FastifyRequest) => RequestCaller {
  const callers = new WeakMap<FastifyRequest, RequestCaller>();
  scope.addHook('onRequest', async (request) => {
    callers.set(request, await requireCaller(request));
  });
  return (request) => {
    const caller = callers.get(request);
    if (caller === undefined) throw new AppError('UNAUTHENTICATED', 'An access token is required.');
    return caller;
  };
}
