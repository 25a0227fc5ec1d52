import { createServer } from 'node:net';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { AppError } from '../../errors/app-error.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { openQueueBackend } from '../../queues/open-queue-backend.ts';
import { dependencyChecks } from '../dependency-checks.ts';
import { type OpsServer, type OpsServerOptions, openOpsServer } from '../ops-server.ts';
import type { Readiness } from '../readiness.ts';

const silent = pino({ level: 'silent' });
let database: TestDatabase;
let server: OpsServer | undefined;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(() => server?.close());
afterAll(() => database.close());

async function open(options: Partial<OpsServerOptions> = {}): Promise<string> {
  const metrics = createMetrics('test');
  server = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    logger: silent,
    metrics,
    checks: [],
    ...options,
  });
  return `http://127.0.0.1:${server.port}`;
}

/** The answer of /health/ready. */
async function readinessOf(response: Response): Promise<Readiness> {
  return (await response.json()) as Readiness;
}

describe('the ops port', () => {
  test('says that the process lives, without asking its dependencies', async () => {
    const base = await open({
      checks: [{ name: 'database', check: () => Promise.reject(new Error('away')) }],
    });
    const response = await fetch(`${base}/health/live`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'live' }]);
  });

  test('is ready when the database and the queue answer, and says how long each took', async () => {
    const backend = openQueueBackend({ kind: 'postgres', databaseUrl: database.url }, silent);
    const base = await open({ checks: dependencyChecks({ db: database.db, backend }) });
    const response = await fetch(`${base}/health/ready`);
    expect(response.status).toBe(200);
    const took = expect.any(Number);
    expect(await response.json()).toEqual({
      status: 'ready',
      checks: { database: { state: 'ok', duration_ms: took }, queue: { state: 'ok', duration_ms: took } },
    });
    await backend.close();
  });

  test.each(['postgres', 'redis'] as const)(
    'is not ready when a %s queue is away, and keeps its address to itself',
    async (kind) => {
      const options =
        kind === 'redis'
          ? { kind, url: 'redis://:hunter2@127.0.0.1:1' }
          : { kind, databaseUrl: 'postgres://nobody:hunter2@127.0.0.1:1/nothing' };
      const backend = openQueueBackend(options, silent);
      const base = await open({ checks: dependencyChecks({ db: database.db, backend }) });
      const response = await fetch(`${base}/health/ready`);
      expect(response.status).toBe(503);
      const body = await response.json();
      expect(body).toMatchObject({
        status: 'not_ready',
        checks: { database: { state: 'ok' }, queue: { state: 'failed', error: 'QUEUE_UNAVAILABLE' } },
      });
      expect(JSON.stringify(body)).not.toMatch(/hunter2|nobody|127\.0\.0\.1/);
      await backend.close();
    },
  );

  test('gives up on a dependency that takes connections and never answers', async () => {
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    const port = await new Promise<number>((resolve) =>
      mute.once('listening', () => resolve((mute.address() as { port: number }).port)),
    );
    const backend = openQueueBackend({ kind: 'redis', url: `redis://127.0.0.1:${port}` }, silent);
    const base = await open({
      checkDeadlineMs: 100,
      checks: [
        { name: 'queue', check: (signal) => backend.check(signal) },
        { name: 'object_store', check: () => new Promise(() => undefined) },
      ],
    });
    const response = await fetch(`${base}/health/ready`);
    expect(response.status).toBe(503);
    expect((await readinessOf(response)).checks.object_store).toMatchObject({
      state: 'failed',
      error: 'no answer within 100 ms',
    });
    await backend.close();
    mute.close();
  });

  test('is no longer ready once the process was told to stop', async () => {
    const stop = new AbortController();
    const base = await open({ stopping: stop.signal });
    expect((await fetch(`${base}/health/ready`)).status).toBe(200);
    stop.abort();
    const response = await fetch(`${base}/health/ready`);
    expect([response.status, (await readinessOf(response)).status]).toEqual([503, 'stopping']);
  });

  test('shows the metrics of its own process in the Prometheus format', async () => {
    const metrics = createMetrics('worker-test');
    metrics.jobs.finished('mail', 'send-mail', 'done', 0.3);
    metrics.uploads.stored(2, 1_000);
    metrics.renders.rendered('job', 'ok', 0.2);
    metrics.http.answered('GET', '/:name', 200, 0.001);
    const base = await open({ metrics });
    const response = await fetch(`${base}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    for (const series of [
      /^stowage_jobs_total{.*queue="mail",job="send-mail",outcome="done".*} 1$/m,
      /^stowage_job_duration_seconds_sum{.*queue="mail",job="send-mail".*} 0\.3$/m,
      /^stowage_uploaded_bytes_total{process="worker-test"} 1000$/m,
      /^stowage_renders_total{.*cause="job",outcome="ok".*} 1$/m,
      /^stowage_render_duration_seconds_count{.*cause="job".*} 1$/m,
      /^stowage_http_request_duration_seconds_count{.*method="GET",route="\/:name",status="200".*} 1$/m,
    ])
      expect(text).toMatch(series);
    expect(text).toContain('process_resident_memory_bytes');
  });

  test('names the code of an AppError in a failed check', async () => {
    const check = () =>
      Promise.reject(new AppError('OBJECT_STORE_UNAVAILABLE', 'The bucket s3cr3t is gone.'));
    const base = await open({ checks: [{ name: 'object_store', check }] });
    const { checks } = await readinessOf(await fetch(`${base}/health/ready`));
    expect(checks.object_store?.error).toBe('OBJECT_STORE_UNAVAILABLE');
  });
});
