import type { IncomingMessage } from 'node:http';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance } from 'fastify';
import { hasBody } from './drop-body.ts';

export interface Pace {
  /** Fewer bytes than this in a window of waiting are too few. */
  readonly minBytes: number;
  /** Time spent waiting for the client, in ms. */
  readonly windowMs: number;
  readonly tickMs: number;
}

/** 16 KiB/s over a minute: 500 MB still pass on a slow line. */
export const DEFAULT_PACE: Pace = { minBytes: 60 * 16 * 1024, windowMs: 60_000, tickMs: 1_000 };

/** Cuts off bodies that come too slowly, so that idle senders do not hold connections and reservations. */
export interface SlowBodies {
  /**
   * Watches a body until it is complete. Only time in which we wait for the client counts: a body that we do not
   * read, because the object store is slow, is not the client's fault.
   */
  watch(body: IncomingMessage, onSlow: (error: AppError) => void): void;
}

interface Watched {
  readonly onSlow: (error: AppError) => void;
  readBytes: number;
  waitedMs: number;
}

export function createSlowBodies(app: FastifyInstance, pace: Pace): SlowBodies {
  const watched = new Map<IncomingMessage, Watched>();

  function tick(): void {
    for (const [body, state] of watched) {
      if (body.complete || body.destroyed) {
        watched.delete(body);
        continue;
      }
      const isWaiting = body.readableFlowing === true && body.readableLength === 0;
      if (!isWaiting) continue;
      state.waitedMs += pace.tickMs;
      if (state.waitedMs < pace.windowMs) continue;
      const { bytesRead } = body.socket;
      if (bytesRead - state.readBytes < pace.minBytes) {
        watched.delete(body);
        state.onSlow(tooSlow());
      }
      state.readBytes = bytesRead;
      state.waitedMs = 0;
    }
  }

  const timer = setInterval(tick, pace.tickMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  const watch: SlowBodies['watch'] = (body, onSlow) => {
    watched.set(body, { onSlow, readBytes: body.socket.bytesRead, waitedMs: 0 });
  };

  // Bodies that Fastify gathers: it answers an error of the stream.
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.routeOptions.config.asksForBody !== true && hasBody(request.raw) && !request.raw.complete)
      watch(request.raw, (error) => {
        reply.header('connection', 'close');
        request.raw.emit('error', error);
      });
    done(null, payload);
  });
  return { watch };
}

function tooSlow(): AppError {
  return new AppError('REQUEST_TIMEOUT', 'The body came too slowly.');
}
