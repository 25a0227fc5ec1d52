import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route says itself when the body may come (`letBodyCome`), after it has looked at everything else. */
    readonly asksForBody?: true;
  }
}

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/**
 * `Expect: 100-continue`: Node would answer it before any of our code runs; here the caller is checked first, so
 * that a body which will be refused is not sent at all.
 */
export function answerExpectations(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request);
    app.server.emit('request', request, response);
  });
  // RFC 9110, 10.1.1 allows to ignore other expectations.
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response);
  });
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.routeOptions.config.asksForBody !== true) letBodyCome(request, reply);
    done(null, payload);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    // The client may send the body after the answer or not: only the end of the connection makes that clear.
    if (waiting.has(request.raw)) reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Whether the client does not send the body unless it is asked for it, and was not. */
export function waitsForContinue(request: IncomingMessage): boolean {
  return waiting.has(request);
}

/** Sends `100 Continue` if the client waits for it. */
export function letBodyCome(request: FastifyRequest, reply: FastifyReply): void {
  if (waiting.delete(request.raw)) reply.raw.writeContinue();
}
