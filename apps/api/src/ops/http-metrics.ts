import type { HttpMetrics } from '@stowage/shared/metrics/http-metrics.ts';
import type { FastifyInstance } from 'fastify';

/** Measures every request of the application. Add it before the routes. */
export function measureRequests(app: FastifyInstance, metrics: HttpMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    // The pattern, not the path: names of files must not become names of series.
    const route = request.routeOptions.url ?? 'unmatched';
    metrics.answered(request.method, route, reply.statusCode, reply.elapsedTime / 1_000);
    done();
  });
}
