import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasBody } from './drop-body.ts';

/** The open connections of a server, and the requests under way on them. */
export interface Connections {
  readonly open: number;
  /** Requests that are not answered to the last byte. */
  readonly requests: number;
  /** From now on each answer ends its connection, so that clients go elsewhere by themselves. */
  drain(): void;
  /** Ends the connections on which no request is under way, also those that were never used. */
  endIdle(): void;
  endAll(): void;
}

/**
 * Requests that may wait on one connection for the answer to the one before. Ordinary clients send one at a time, and
 * Node takes up all that arrive in one packet: somebody who sends thousands and reads nothing would take up all
 * requests there may be.
 */
const MOST_AT_ONCE = 32;

/** Keeps count. Call it before anything that may refuse a request. */
export function trackConnections(app: FastifyInstance): Connections {
  /** With the number of requests under way on each. */
  const sockets = new Map<Socket, number>();
  let requests = 0;
  let draining = false;

  app.server.on('connection', (socket) => {
    sockets.set(socket, 0);
    socket.once('close', () => sockets.delete(socket));
  });
  const count = (socket: Socket, change: 1 | -1) => {
    requests += change;
    const before = sockets.get(socket);
    if (before !== undefined) sockets.set(socket, before + change);
  };
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if ((sockets.get(socket) ?? 0) >= MOST_AT_ONCE) {
      // Not handled any further: there is nobody who could be answered.
      socket.destroy();
      return;
    }
    count(socket, 1);
    reply.raw.once('close', () => count(socket, -1));
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (draining && hasArrived(request)) reply.header('connection', 'close');
    done(null, payload);
  });

  return {
    get open() {
      return sockets.size;
    },
    get requests() {
      return requests;
    },
    drain() {
      draining = true;
    },
    endIdle() {
      for (const [socket, underWay] of sockets) if (underWay === 0) socket.destroy();
    },
    endAll() {
      for (const socket of sockets.keys()) socket.destroy();
    },
  };
}

/** A client that is still sending would not see an answer that ends the connection. */
function hasArrived({ raw }: FastifyRequest): boolean {
  return raw.complete || !hasBody(raw);
}
