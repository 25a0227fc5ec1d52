import type { FastifyInstance, FastifyRequest } from 'fastify';

/** One line a request, without its query: what is in a query may be meant for nobody else. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status } = reply;
    request.log.info({ ...described(request), status, ms: Math.round(reply.elapsedTime) }, 'request');
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    request.log.info(described(request), 'request given up by the client');
    done();
  });
}

function described({ method, url, ip }: FastifyRequest) {
  const [path] = url.split('?', 1);
  return { method, path, ip };
}
