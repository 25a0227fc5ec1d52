import type { FastifyInstance, FastifyRequest } from 'fastify';

/** One line a request, without its query: what is in a query may be meant for nobody else. */
export function logRequests(app: FastifyInstance): void {
  // What is logged of a request is named here, so there are no secrets in it to be looked for.
  const log = app.log.child({}, { redact: [] });
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status } = reply;
    log.info({ ...described(request), status, ms: Math.round(reply.elapsedTime) }, 'request');
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    log.info(described(request), 'request given up by the client');
    done();
  });
}

function described({ id: requestId, method, url, ip }: FastifyRequest) {
  const [path] = url.split('?', 1);
  return { requestId, method, path, ip };
}
