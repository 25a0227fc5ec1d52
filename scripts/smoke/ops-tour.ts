import assert from 'node:assert/strict';
import { json } from './accounts-tour.ts';
import { until } from './files-tour.ts';
import { needed, type Tour, type Visitor } from './tour.ts';

/** The quota operations of the contract. */
export async function tourQuota(tour: Tour, visitor: Visitor | undefined): Promise<void> {
  const { client } = tour;
  await tour.step('the quota is increased and set as the contract says, and bad bodies are 400', async () => {
    const { headers, id } = needed(visitor, 'login');
    const before = await json(await client.get(`/quota?user_id=${id}`, headers), 200);
    const used = Number(before.current_quota);
    const increased = await client.send(
      'POST',
      '/quota/increase',
      { user_id: id, additional_bytes: 1_000 },
      headers,
    );
    assert.deepEqual(await json(increased, 200), { ...before, current_quota: used + 1_000 });
    const set = await client.send('POST', '/quota/set', { user_id: id, new_quota_bytes: used }, headers);
    assert.deepEqual(await json(set, 200), before);
    const bad = await client.send('POST', '/quota/set', { user_id: id, new_quota_bytes: '12' }, headers);
    assert.equal((await json(bad, 400)).code, 'INVALID_REQUEST');
    const stranger = '00000000-0000-7000-8000-000000000000';
    assert.equal((await client.get(`/quota?user_id=${stranger}`, headers)).status, 403);
  });
}

/** What those who run Stowage look at. */
export async function tourOps(tour: Tour): Promise<void> {
  const { client, opsUrls } = tour;
  const [apiOps] = opsUrls;

  await tour.step(
    'the API describes itself: /openapi.json, /docs, /.well-known/jwks.json, GraphiQL',
    async () => {
      const description = await json(await client.get('/openapi.json'), 200);
      assert.match(String(description.openapi), /^3\.1/);
      const paths = Object.keys(description.paths as Record<string, unknown>); // an object, or there are no keys
      for (const path of ['/', '/quota', '/quota/increase', '/quota/set', '/files']) {
        assert.ok(paths.includes(path), `${path} is in ${paths.join()}`);
      }
      assert.equal((await client.get('/docs', { accept: 'text/html' })).status, 200);
      assert.ok(Array.isArray((await json(await client.get('/.well-known/jwks.json'), 200)).keys));
      const page = await client.get('/graphql', { accept: 'text/html' });
      assert.equal(page.status, 200);
      const [, script = ''] = /src="([^"]+\/graphiql\.js)"/.exec(await page.text()) ?? [];
      assert.match(await (await client.get(`/${script}`)).text(), /GraphiQL/);
      assert.equal((await client.get('/graphql?query={users{id}}')).status, 405);
    },
  );

  await tour.step('every process is live and ready, and says what it checked', async () => {
    for (const url of opsUrls) {
      assert.equal((await fetch(`${url}/health/live`)).status, 200);
      const ready = await json(await fetch(`${url}/health/ready`), 200);
      assert.ok(Object.keys(ready.checks as object).includes('database'), JSON.stringify(ready)); // an object, or there are no keys
    }
    return `${opsUrls.length} processes`;
  });

  await tour.step('metrics of requests, uploads, renders, queues and jobs', async () => {
    const texts = await Promise.all(opsUrls.map(async (url) => await (await fetch(`${url}/metrics`)).text()));
    const all = texts.join('\n');
    for (const name of [
      'stowage_http_request_duration_seconds_count',
      'stowage_uploads_total',
      'stowage_uploaded_bytes_total',
      'stowage_renders_total',
      'stowage_jobs_total',
      'stowage_outbox_rows',
    ]) {
      assert.match(all, new RegExp(`^${name}[{ ]`, 'm'), name);
    }
    for (const queue of ['thumbnails', 'quota-accounting', 'cleanup', 'mail']) {
      assert.match(all, new RegExp(`^stowage_queue_jobs\\{[^}]*queue="${queue}"`, 'm'));
      assert.match(all, new RegExp(`^stowage_queue_oldest_waiting_seconds\\{[^}]*queue="${queue}"`, 'm'));
    }
  });

  await tour.step('the queue dashboard opens', async () => {
    const page = await fetch(`${apiOps}/queues`);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<html/i);
  });

  await tour.step('all that was queued was done', async () => {
    const url = needed(apiOps, 'ops port');
    await until(async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const waiting = [
        ...metrics.matchAll(
          /^stowage_queue_jobs\{[^}]*state="(?:waiting|prioritized|active)"[^}]*\} (\S+)$/gm,
        ),
      ];
      return waiting.length > 0 && waiting.every(([, count]) => Number(count) === 0);
    }, 'empty queues');
  });
}
