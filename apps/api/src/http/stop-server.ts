import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

export interface StopOptions {
  readonly connections: Connections;
  /** Aborted when the time for running uploads is over. */
  readonly shutdown: AbortController;
  /** How long new connections are still taken, ms: until whoever sends them has seen that this process stops. */
  readonly drainMs: number;
  /** How long running requests may go on, ms; the drain is part of it. */
  readonly graceMs: number;
  /** For those that are cut off to be answered and cleaned up after, ms. Default 2,000. */
  readonly cutMs?: number;
  /** How long a connection without a request is left open once no new ones are taken, ms. Default 500. */
  readonly lingerMs?: number;
}

const LOOK_MS = 50;

/**
 * Stops a server without losing a request: each answer from now on ends its connection, new connections are taken for
 * a little while, then running requests are waited for, and cut off when the grace is over. Resolves when all is done.
 */
export async function stopServer(app: FastifyInstance, options: StopOptions): Promise<void> {
  const { connections, shutdown, cutMs = 2_000, lingerMs = 500 } = options;
  const startedAt = performance.now();
  const graceEnds = startedAt + options.graceMs;
  const until = async (moment: number, isDone: () => boolean) => {
    while (!isDone() && performance.now() < moment) await sleep(LOOK_MS);
  };

  connections.drain();
  const drainEnds = Math.min(startedAt + options.drainMs, graceEnds);
  await until(drainEnds, () => connections.open === 0);

  let closed = false;
  const closing = app.close().finally(() => {
    closed = true;
  });
  await until(Math.min(performance.now() + lingerMs, graceEnds), () => closed);
  // Also those of which an answer was under way when the drain began: its head had promised to keep them open.
  await until(graceEnds, () => {
    connections.endIdle();
    return closed;
  });
  if (!closed) {
    shutdown.abort(new AppError('SHUTTING_DOWN', 'The server is being stopped. Try again.'));
    await until(performance.now() + cutMs, () => {
      connections.endIdle();
      return closed;
    });
    connections.endAll();
  }
  await closing;
}
