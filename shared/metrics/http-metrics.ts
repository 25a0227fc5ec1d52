import { Histogram, type Registry } from '@prometheus-io/client';

export interface HttpMetrics {
  /** @param route the route's pattern, never the path: a path would make a series of its own */
  answered(method: string, route: string, status: number, seconds: number): void;
}

/** Requests by method, route and status, and how long they took until the last byte was sent. */
export function createHttpMetrics(registry: Registry): HttpMetrics {
  const durations = new Histogram({
    name: 'stowage_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [registry],
  });
  // The labels of a series are checked and sorted once, not at every request.
  const series = new Map<string, ReturnType<typeof durations.labels>>();
  return {
    answered(method, route, status, seconds) {
      const key = `${method} ${status} ${route}`;
      let one = series.get(key);
      if (one === undefined) {
        one = durations.labels({ method, route, status: String(status) });
        series.set(key, one);
      }
      one.observe(seconds);
    },
  };
}
