import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';

const read = (name: string) => readFileSync(new URL(`./graphiql/${name}`, import.meta.url), 'utf8');

/** The page to try queries with. All of it is in the answer: nothing is loaded from elsewhere. */
export function sendGraphiqlPage(reply: FastifyReply): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  const page = read('page.html')
    .replace('<!-- style -->', () => `<style nonce="${nonce}">${read('page.css')}</style>`)
    .replace('<!-- script -->', () => `<script nonce="${nonce}" type="module">${read('page.js')}</script>`);
  return reply
    .header('content-security-policy', policy.join('; '))
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(page);
}
