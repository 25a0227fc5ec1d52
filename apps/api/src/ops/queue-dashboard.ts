import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { QUEUE_NAMES } from '@stowage/shared/queues/job-types.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';

const DASHBOARD_PATH = '/queues';

/**
 * Shows the queues at `/queues`. To look only: a job that is retried, removed or added here would bypass its outbox
 * row. Trying again is `npm run requeue`.
 */
export async function addQueueDashboard(app: FastifyInstance, backend: QueueBackend): Promise<void> {
  const server = new FastifyAdapter();
  server.setBasePath(DASHBOARD_PATH);
  createBullBoard({
    queues: QUEUE_NAMES.map((name) => {
      // The dashboard's types know queues on Redis only; it looks at what the queue offers before it uses it.
      const queue = backend.queue(name) as unknown as Queue;
      return new BullMQAdapter(queue, { readOnlyMode: true });
    }),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Stowage queues', hideDocsLink: true } },
  });
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        if (request.method !== 'GET' && request.method !== 'HEAD')
          return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'The dashboard is read-only.' });
      });
      await scope.register(server.registerPlugin());
    },
    { prefix: DASHBOARD_PATH },
  );
}
