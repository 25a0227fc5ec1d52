import underPressure from '@fastify/under-pressure';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

/** Requests wait this long on average for their turn, in ms, before new ones are refused. */
const MAX_EVENT_LOOP_DELAY = 1_000;

class Overloaded extends AppError {
  constructor() {
    super('OVERLOADED', 'There is too much to do here just now. Try again soon.');
  }
}

/** Refuses requests with 503 while the process cannot keep up, instead of letting all of them wait. */
export async function refuseWhenOverloaded(
  app: FastifyInstance,
  maxEventLoopDelay = MAX_EVENT_LOOP_DELAY,
): Promise<void> {
  await app.register(underPressure, { maxEventLoopDelay, customError: Overloaded });
}

/** Refuses requests with 503 while so many are under way, those that wait for slow clients included. */
export function boundRequests(app: FastifyInstance, connections: Connections, mostRequests: number): void {
  app.addHook('onRequest', (_request, _reply, done) => {
    done(connections.requests > mostRequests ? new Overloaded() : undefined);
  });
}
