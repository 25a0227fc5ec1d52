import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { waitsForContinue } from './expect-continue.ts';

/** How long the rest of a body is read and dropped after the answer. */
const MOST_MS = 30_000;
/** The same while the server closes: nobody may hold it up. */
const MOST_WHILE_CLOSING_MS = 1_000;

/**
 * After an early answer the rest of the body is read and dropped for a while, and only then the connection ends if it
 * has to: ordinary clients look at the answer only when they have sent everything, and a closed connection would hide
 * it from them.
 */
export function dropUnreadBodies(app: FastifyInstance, mostMs = MOST_MS): void {
  const underWay = new Set<Drop>();
  let most = mostMs;

  app.addHook('onSend', (request, _reply, payload, done) => {
    const { raw } = request;
    if (hasBody(raw) && !raw.complete) {
      const drop = dropRest(raw, { mostMs: most, onEnd: () => underWay.delete(drop) });
      underWay.add(drop);
    }
    done(null, payload);
  });
  app.addHook('preClose', async () => {
    most = Math.min(mostMs, MOST_WHILE_CLOSING_MS);
    for (const drop of underWay) drop.endWithin(most);
  });
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** A body of which the rest is dropped. */
interface Drop {
  endWithin(ms: number): void;
}

function dropRest(body: IncomingMessage, options: { mostMs: number; onEnd: () => void }): Drop {
  const { socket } = body;
  // Who waits to be asked for the body does not send it any more.
  const letEnd = waitsForContinue(body) ? undefined : holdEnd(socket);
  const endAfter = (ms: number) => setTimeout(() => socket.destroy(), ms).unref();
  let timer = endAfter(options.mostMs);
  let isOver = false;
  const stop = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    options.onEnd();
    letEnd?.();
  };
  body.once('end', stop).once('close', stop).on('error', stop);
  body.unpipe();
  body.resume();
  return {
    endWithin(ms) {
      clearTimeout(timer);
      timer = endAfter(ms);
    },
  };
}

/**
 * Keeps a connection open that Node would end together with the answer, as HTTP/1.0 and `Connection: close` ask for,
 * until what is returned is called.
 */
function holdEnd(socket: Socket): () => void {
  let wasAsked = false;
  socket.destroySoon = () => {
    wasAsked = true;
  };
  return () => {
    // That of the class is there again.
    Reflect.deleteProperty(socket, 'destroySoon');
    if (wasAsked) socket.destroySoon();
  };
}
