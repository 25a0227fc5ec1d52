import fastify from 'fastify';
import { expect, test } from 'vitest';
import { measureRequests } from './http-metrics.ts';

test('requests are measured by the pattern of their route, never by their path', async () => {
  const answers: unknown[][] = [];
  const app = fastify();
  measureRequests(app, { answered: (...answer) => answers.push(answer) });
  app.get('/:name', async () => 'bytes');
  await app.register(async (scope) =>
    scope.post('/quota/set', async (_request, reply) => reply.code(413).send()),
  );

  await app.inject('/secret-name.jpg');
  await app.inject({ method: 'POST', url: '/quota/set' });
  await app.inject('/no/such/path');

  const seconds = expect.any(Number);
  expect(answers).toEqual([
    ['GET', '/:name', 200, seconds],
    ['POST', '/quota/set', 413, seconds],
    ['GET', 'unmatched', 404, seconds],
  ]);
  await app.close();
});
