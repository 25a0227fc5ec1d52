import type { AddressInfo } from 'node:net';
import type { Registry } from '@prometheus-io/client';
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { createReadiness, type ReadinessCheck } from './readiness.ts';

export interface OpsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly logger: Logger;
  readonly metrics: { readonly registry: Registry };
  readonly checks: readonly ReadinessCheck[];
  /** Aborted when the process was told to stop; /health/ready says so. */
  readonly stopping?: AbortSignal;
  /** How long one readiness check may take, ms. Default 2,000. */
  readonly checkDeadlineMs?: number;
  /** Adds what only this process shows, such as the queue dashboard. */
  readonly extend?: (app: FastifyInstance) => Promise<void>;
}

export interface OpsServer {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Opens the port for those who run Stowage: `/health/live`, `/health/ready`, `/metrics`. It is not for users:
 * nothing here asks for a token, so it listens on the loopback address unless told otherwise.
 */
export async function openOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const { logger, metrics, checks, stopping, checkDeadlineMs = 2_000 } = options;
  const readiness = createReadiness({ checks, logger, stopping, deadlineMs: checkDeadlineMs });
  const app = fastify({ logger: false, requestTimeout: 10_000, forceCloseConnections: true });

  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });
  app.get('/health/live', async () => ({ status: 'live' }));
  app.get('/health/ready', async (_request, reply) => {
    const answer = await readiness.read();
    return reply.code(answer.status === 'ready' ? 200 : 503).send(answer);
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.registry.metrics();
    return reply.type(metrics.registry.contentType).send(text);
  });
  await options.extend?.(app);

  await app.listen({ host: options.host, port: options.port });
  const address = app.server.address();
  const port = isAddressInfo(address) ? address.port : options.port;
  logger.info({ host: options.host, port }, 'ops port is open');
  return { host: options.host, port, close: () => app.close() };
}

function isAddressInfo(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}
