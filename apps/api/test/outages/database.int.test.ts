import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../../scripts/testing/pictures.ts';
import { readBooks } from '../../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { type BreakableLine, openBreakableLine } from '../../../../shared/queues/test/breakable-line.ts';
import { DATABASE_PATIENCE } from '../../src/database-patience.ts';
import { type ApiRig, openApiRig } from './api-rig.ts';

const [store] = objectStores();
const PROMISED_MS = 5_000;
const PATIENCE = { timeoutMs: 30_000 };

it('the API waits for Postgres no longer than it may', () => {
  const { connectTimeoutMs, statementTimeoutMs } = DATABASE_PATIENCE;
  expect(connectTimeoutMs + statementTimeoutMs).toBeLessThan(PROMISED_MS - 250);
});

describe.each(['cut', 'freeze'] as const)(
  'while the way to Postgres is broken (%s)',
  { timeout: 60_000 },
  (how) => {
    let line: BreakableLine;
    let api: ApiRig;

    beforeAll(async () => {
      api = await openApiRig({
        store: store!.options,
        patience: { connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 },
        databaseUrl: async (direct) => {
          line = await openBreakableLine(direct, 5432);
          return line.url;
        },
      });
    });
    afterAll(async () => {
      await api?.close();
      await line?.close();
    });

    it('what is in memory is served, all else is 500 DATABASE_UNAVAILABLE, and it recovers by itself', async () => {
      const picture = await makePicture({ width: 64, height: 48, format: 'png' });
      const known = await (await api.upload(picture, 'a.png')).text();
      const unknown = await (await api.upload(Buffer.from('text'))).text();
      const inMemory = [`/${known}`, `/${known.replace('.', '_32.')}`, `/${known}/webp`];
      for (const path of inMemory) expect((await api.get(path)).status).toBe(200);
      expect(await api.readiness()).toEqual({ status: 200, failed: [] });
      const before = await readBooks(api.db, api.userId);

      line[how]();
      const login = JSON.stringify({
        query: 'mutation { login(params: {email: "a@example.org", password: "something"}) { statusCode } }',
      });
      const headers = { 'content-type': 'application/json' };
      const graphql = fetch(`${api.url}/graphql`, { method: 'POST', body: login, headers });
      const answers = await Promise.all([
        ...[`/${unknown}`, '/files', `/quota?user_id=${api.userId}`, '/'].map((path) => api.get(path)),
        api.upload(Buffer.from('text')),
        fetch(`${api.url}/${unknown}`, { method: 'DELETE', headers: { authorization: api.authorization } }),
      ]);
      for (const answer of answers) {
        expect([answer.url, answer.status]).toEqual([answer.url, 500]);
        expect(await answer.json()).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      }
      expect(await (await graphql).json()).toMatchObject({
        errors: [{ extensions: { code: 'DATABASE_UNAVAILABLE' } }],
      });
      for (let again = 0; again < 3; again += 1)
        for (const path of inMemory) expect((await api.get(path)).status).toBe(200);
      expect(await api.readiness()).toMatchObject({ status: 503, failed: ['database'] });

      line.mend();
      await waitFor(async () => (await api.get(`/${unknown}`)).status === 200, PATIENCE);
      await waitFor(async () => (await api.readiness()).status === 200, PATIENCE);
      expect(await readBooks(api.db, api.userId)).toEqual(before);
      expect((await api.upload(Buffer.from('text'))).status).toBe(200);
    });

    it('many who wait for it get their answers together, not one after the other', async () => {
      line[how]();
      const answers = await Promise.all(Array.from({ length: 60 }, () => api.upload(Buffer.from('text'))));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
      line.mend();
      await waitFor(async () => (await api.upload(Buffer.from('text'))).status === 200, PATIENCE);
    });
  },
);
