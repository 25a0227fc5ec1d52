import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** How long the rest of a body is read and dropped after the answer. */
const MOST_MS = 30_000;

/**
 * After an early answer the rest of the body is read and dropped for a while: ordinary clients look at the answer
 * only when they have sent everything, and a closed connection would hide it from them.
 */
export function dropUnreadBodies(app: FastifyInstance, mostMs = MOST_MS): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (hasBody(request.raw) && !request.raw.complete) dropRest(request.raw, mostMs);
    done(null, payload);
  });
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function dropRest(body: IncomingMessage, mostMs: number): void {
  const { socket } = body;
  const timer = setTimeout(() => socket.destroy(), mostMs).unref();
  const stop = () => clearTimeout(timer);
  body.once('end', stop).once('close', stop).on('error', stop);
  body.unpipe();
  body.resume();
}
