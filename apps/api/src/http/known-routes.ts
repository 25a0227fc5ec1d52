import type { FastifyInstance } from 'fastify';

/** Which methods a path has, for the difference between 404 and 405. */
export interface KnownRoutes {
  methodsOf(path: string): string[];
  /** Whether there is a route for exactly this path, without parameters. */
  isFixed(path: string): boolean;
}

interface KnownRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** Notes every route that is registered after it was called. */
export function noteRoutes(app: FastifyInstance): KnownRoutes {
  const fixed = new Map<string, Set<string>>();
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // The wildcard that CORS registers for preflights is not a path.
    if (url === '*') return;
    const methods = typeof method === 'string' ? [method] : method;
    if (/[:*]/.test(url)) routes.push({ pattern: patternOf(url), methods });
    else fixed.set(url, new Set([...(fixed.get(url) ?? []), ...methods]));
  });
  return {
    methodsOf: (path) => {
      // `/quota` is no file of that name, so what `/:name` can do does not count.
      const methods =
        fixed.get(path) ??
        routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods);
      return [...new Set(methods)].sort();
    },
    isFixed: (path) => fixed.has(path),
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
