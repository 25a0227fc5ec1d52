import type { FastifyInstance } from 'fastify';

/** Which methods a path has, for the difference between 404 and 405. */
export interface KnownRoutes {
  methodsOf(path: string): string[];
}

interface KnownRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** Notes every route that is registered after it was called. */
export function noteRoutes(app: FastifyInstance): KnownRoutes {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // The wildcard that CORS registers for preflights is not a path.
    if (url === '*') return;
    routes.push({ pattern: patternOf(url), methods: typeof method === 'string' ? [method] : method });
  });
  return {
    methodsOf: (path) => {
      const methods = routes.filter((route) => route.pattern.test(path)).flatMap((route) => route.methods);
      return [...new Set(methods)].sort();
    },
  };
}

/** `/files/:name` as a regular expression; a parameter is one segment, `*` is the rest. */
function patternOf(url: string): RegExp {
  const segments = url
    .split('/')
    .map((segment) =>
      segment.startsWith(':')
        ? '[^/]+'
        : segment === '*'
          ? '.*'
          : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    );
  return new RegExp(`^${segments.join('/')}$`);
}
