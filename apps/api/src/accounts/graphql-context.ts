import type { FastifyReply, FastifyRequest } from 'fastify';

/** What a resolver knows of the request that it serves. */
export interface GraphqlContext extends Record<PropertyKey, unknown> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
