import type { FastifyInstance } from 'fastify';

/**
 * Headers of every answer. They are constants and set at once, because reads are answered in microseconds. Answers
 * that a browser may show (pictures, the documentation) replace Content-Security-Policy by their own.
 */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Stored pictures are there to be embedded by other sites.
  'cross-origin-resource-policy': 'cross-origin',
  // What may be kept says so by itself.
  'cache-control': 'no-store',
};

const ONE_YEAR_SECONDS = 31_536_000;

export interface SecurityHeadersOptions {
  /** Clients come by https: they are told to do so always. */
  readonly https: boolean;
}

export function setSecurityHeaders(app: FastifyInstance, { https }: SecurityHeadersOptions): void {
  const headers = {
    ...SECURITY_HEADERS,
    ...(https && { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` }),
  };
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    done();
  });
}
