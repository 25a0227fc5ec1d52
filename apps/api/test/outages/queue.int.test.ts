import { QUEUE_NAMES } from '@stowage/shared/queues/job-types.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { objectStores, queueBackends } from '../../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { type BreakableLine, openBreakableLine } from '../../../../shared/queues/test/breakable-line.ts';
import { type ApiRig, openApiRig } from './api-rig.ts';

const [store] = objectStores();
const PATIENCE = { timeoutMs: 30_000 };

let line: BreakableLine;
let api: ApiRig;
afterEach(async () => {
  await api?.close();
  await line?.close();
});

describe.each(queueBackends())(
  'while the way to the queue on $name is broken',
  { timeout: 60_000 },
  ({ options }) => {
    it.each(['cut', 'freeze'] as const)('uploads succeed, and their jobs follow later (%s)', async (how) => {
      api = await openApiRig({
        store: store!.options,
        queue: async (direct) => {
          if (options.kind === 'redis') {
            line = await openBreakableLine(options.url, 6379);
            return { ...options, url: line.url, prefix: `outage-${how}` };
          }
          line = await openBreakableLine(direct, 5432);
          return { ...options, databaseUrl: line.url };
        },
      });
      await waitFor(async () => (await api.readiness()).status === 200, PATIENCE);
      line[how]();
      const answers = await Promise.all(Array.from({ length: 10 }, () => api.upload(Buffer.from('text'))));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      await waitFor(async () => (await api.readiness()).failed.includes('queue'), PATIENCE);
      expect((await api.readiness()).failed).toEqual(['queue']);
      const waiting = await api.db.selectFrom('outbox').select(['publishes', 'queue']).execute();
      expect(waiting.length).toBeGreaterThan(0);
      expect(waiting.every(({ publishes }) => publishes === 0)).toBe(true);

      line.mend();
      await waitFor(
        async () =>
          (await api.db.selectFrom('outbox').select('publishes').where('publishes', '=', 0).execute())
            .length === 0,
        PATIENCE,
      );
      const counts = QUEUE_NAMES.map((name) =>
        api.backend.queue(name).getJobCountByTypes('waiting', 'delayed', 'prioritized'),
      );
      const inQueues = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
      expect(inQueues).toBe(waiting.length);
      await waitFor(async () => (await api.readiness()).status === 200, PATIENCE);
    });
  },
);
