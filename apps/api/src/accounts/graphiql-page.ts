import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const OWN_FOLDER = join(import.meta.dirname, 'graphiql');

/** What the page loads, under the names that it says. */
const FILES = [
  { name: 'react.js', type: SCRIPT, path: inPackage('react', 'umd/react.production.min.js') },
  { name: 'react-dom.js', type: SCRIPT, path: inPackage('react-dom', 'umd/react-dom.production.min.js') },
  { name: 'graphiql.js', type: SCRIPT, path: inPackage('graphiql', 'graphiql.min.js') },
  { name: 'graphiql.css', type: STYLE, path: inPackage('graphiql', 'graphiql.min.css') },
  { name: 'start.js', type: SCRIPT, path: join(OWN_FOLDER, 'start.js') },
  { name: 'page.css', type: STYLE, path: join(OWN_FOLDER, 'page.css') },
];

/**
 * Serves GraphiQL's files, all of them from this machine, at paths that change with their content.
 * @returns what answers a request with the page
 */
export function serveGraphiql(app: FastifyInstance): (reply: FastifyReply) => FastifyReply {
  let template = readFileSync(join(OWN_FOLDER, 'page.html'), 'utf8');
  for (const { name, type, path } of FILES) {
    const bytes = readFileSync(path);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    // Relative to the page's own path, so a prefix that a proxy adds does no harm.
    const reference = `graphql/${hash}/${name}`;
    template = template.replace(`="${name}"`, () => `="${reference}" nonce="{nonce}"`);
    app.get(`/${reference}`, { schema: { hide: true } }, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(bytes),
    );
  }

  return (reply) => {
    const nonce = randomBytes(16).toString('base64');
    return reply
      .header('content-security-policy', policyOf(nonce))
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(template.replaceAll('{nonce}', nonce));
  };
}

/** Not `'self'`: files that users uploaded are of this origin too. Fonts and images are in the style sheet. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** A file of a package that its `exports` do not name. */
function inPackage(name: string, file: string): string {
  const { resolve } = createRequire(import.meta.url);
  return join(dirname(resolve(`${name}/package.json`)), file);
}
