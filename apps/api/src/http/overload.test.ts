import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { answerErrors } from './answer-errors.ts';
import { refuseWhenOverloaded } from './overload.ts';

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('refuses requests while the process cannot keep up, and takes them again afterwards', async () => {
  const app = Fastify();
  answerErrors(app);
  await refuseWhenOverloaded(app, 100);
  app.get('/', async () => 'ok');
  expect((await app.inject('/')).statusCode).toBe(200);
  const refused = await waitFor(
    async () => {
      block(300);
      await nextTurn();
      const response = await app.inject('/');
      return response.statusCode === 503 && response;
    },
    { intervalMs: 1 },
  );
  expect(refused.json()).toMatchObject({ code: 'OVERLOADED' });
  expect(refused.headers['retry-after']).toBe('2');
  await waitFor(async () => (await app.inject('/')).statusCode === 200);
  await app.close();
});
