import { openOpsServer } from '@stowage/shared/ops/ops-server.ts';
import { failJob } from '@stowage/shared/outbox/fail-job.ts';
import { openRig, type Rig, silent, someJob } from '@stowage/shared/queues/test/rig.ts';
import { UnrecoverableError } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { queueBackends } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { addQueueDashboard } from '../src/ops/queue-dashboard.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

interface ShownQueue {
  readonly name: string;
  readonly counts: Record<string, number>;
  readonly jobs: { id: string; name: string; data: unknown; failedReason?: string }[];
}

describe.each(queueBackends())('the queue dashboard on $name', ({ options }) => {
  let rig: Rig;
  let base: string;
  let close: () => Promise<void>;
  beforeEach(async () => {
    rig = await openRig(database.db, options);
    const server = await openOpsServer({
      host: '127.0.0.1',
      port: 0,
      logger: silent,
      metrics: rig.metrics,
      checks: [],
      extend: (app) => addQueueDashboard(app, rig.backend),
    });
    base = `http://127.0.0.1:${server.port}`;
    close = () => server.close();
  });
  afterEach(async () => {
    await close();
    await rig.close();
  });

  const shown = async (state: string): Promise<ShownQueue | undefined> => {
    const url = `${base}/queues/api/queues?activeQueue=quota-accounting&status=${state}&page=1&jobsPerPage=10`;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    const { queues } = (await response.json()) as { queues: ShownQueue[] };
    expect(queues.map((queue) => queue.name)).toEqual(['thumbnails', 'quota-accounting', 'cleanup', 'mail']);
    return queues.find((queue) => queue.name === 'quota-accounting');
  };

  test('is a page with its scripts', async () => {
    const page = await fetch(`${base}/queues`);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const html = await page.text();
    expect(html).toContain('Stowage queues');
    const script = /src="([^"]+\.js)"/.exec(html)?.[1] ?? '';
    const loaded = await fetch(new URL(script, `${base}/queues/`));
    expect([loaded.status, loaded.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('javascript'),
    ]);
  });

  test('shows jobs that wait, with their payload', async () => {
    const [id = ''] = await rig.publish([someJob({ requestId: 'request-3' })]);
    const queue = await shown('waiting');
    expect(queue?.counts.waiting).toBe(1);
    expect(queue?.jobs).toMatchObject([{ id, name: 'post-usage', data: { requestId: 'request-3' } }]);
  });

  test('shows jobs that failed, and why, and lets nobody retry, add or remove them', async () => {
    const [id = ''] = await rig.publish([someJob()]);
    const worker = rig.backend.worker(
      'quota-accounting',
      async () => {
        await failJob(database.db, id, 'no luck');
        throw new UnrecoverableError('no luck');
      },
      { concurrency: 1 },
    );
    await waitFor(async () => (await rig.backend.queue('quota-accounting').getJobState(id)) === 'failed');
    await worker.close();
    expect((await shown('failed'))?.jobs).toMatchObject([{ id, failedReason: 'no luck' }]);

    for (const [method, path] of [
      ['PUT', `${id}/retry`],
      ['PUT', `${id}/clean`],
      ['PUT', 'retry/failed'],
      ['PUT', 'clean/failed'],
      ['PUT', 'pause'],
      ['POST', 'add'],
      ['PUT', 'obliterate'],
    ]) {
      const response = await fetch(`${base}/queues/api/queues/quota-accounting/${path}`, {
        method: method ?? '',
      });
      expect(response.status).toBe(405);
    }
    expect(await rig.backend.queue('quota-accounting').getJobState(id)).toBe('failed');
    expect(await rig.backend.queue('quota-accounting').isPaused()).toBe(false);
  });

  test('leaves health and metrics as they are', async () => {
    expect((await fetch(`${base}/health/live`)).status).toBe(200);
    expect((await fetch(`${base}/metrics`)).status).toBe(200);
  });
});
