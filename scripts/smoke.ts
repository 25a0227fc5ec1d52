import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logIn, tourAccounts } from './smoke/accounts-tour.ts';
import { createClient } from './smoke/client.ts';
import { quotaOf, tourDeletion, tourFiles } from './smoke/files-tour.ts';
import { tourOps, tourQuota } from './smoke/ops-tour.ts';
import { type Program, processesOf, startProgram } from './smoke/program.ts';
import { createSteps } from './smoke/steps.ts';
import { tourThumbnails } from './smoke/thumbnails-tour.ts';
import { needed, type Tour } from './smoke/tour.ts';
import { claim } from './start/ports.ts';

/**
 * Starts `npm start` as a user would, with a data folder and ports of its own, and walks through all of it over the
 * network. REDIS_URL, S3_*, DATABASE_URL and the like are passed on, so it shows the real parts too.
 */
const PROCESSES = 5;

const steps = createSteps((line) => console.log(line));
const dataFolder = await mkdtemp(join(tmpdir(), 'stowage-smoke-'));
const port = await claim('127.0.0.1', 0, 'PORT');
const opsPort = await rowOfPorts(PROCESSES);
const options = { dataFolder, port, opsPort };
let program: Program | undefined;
const started: Program[] = [];

try {
  await steps.step('npm start', async () => {
    program = await startProgram(options);
    started.push(program);
    return `ready after ${(program.readyAfterMs / 1_000).toFixed(1)} s`;
  });
  if (program !== undefined) await walk(program);
} finally {
  await program?.stop().catch(() => undefined);
  if (steps.failed() > 0) console.log(`\n${complaints(started.map((each) => each.output()).join(''))}\n`);
  await rm(dataFolder, { recursive: true, force: true });
}
process.exit(steps.close());

async function walk(first: Program): Promise<void> {
  const tour: Tour = {
    ...steps,
    client: createClient(first.baseUrl),
    dataFolder,
    opsUrls: Array.from({ length: PROCESSES }, (_, index) => `http://127.0.0.1:${opsPort + index}`),
  };
  await tour.step('GET / is the health check', async () => {
    const answer = await tour.client.get('/');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
    assert.equal(await answer.text(), 'ok');
  });
  await tour.step(
    'the start says where the administrator and the dashboard are, and keeps the password',
    async () => {
      const text = first.output();
      assert.match(text, /administrator +\S+@\S+, password in \S+admin-password/);
      assert.ok(text.includes(`http://127.0.0.1:${opsPort}/queues`), text);
    },
  );
  const visitor = await tourAccounts(tour);
  const pictures = await tourFiles(tour, visitor);
  await tourThumbnails(tour, visitor, pictures);
  await tourQuota(tour, visitor);
  await tourDeletion(tour, visitor, pictures.at(-1));
  await tourOps(tour);

  await stopped(tour, first);
  await tour.step('a second start', async () => {
    program = await startProgram(options);
    started.push(program);
    return `ready after ${(program.readyAfterMs / 1_000).toFixed(1)} s`;
  });
  await tour.step('keeps users, files and quotas', async () => {
    const { email, password, id } = needed(visitor, 'login');
    const { headers } = await logIn(tour, email, password);
    const kept = pictures.slice(0, -1);
    for (const picture of kept) {
      const bytes = await (await tour.client.get(`/${picture.name}`)).arrayBuffer();
      assert.ok(Buffer.from(bytes).equals(picture.bytes), picture.name);
    }
    const texts = 12 + 8;
    const expected = kept.reduce((sum, { bytes }) => sum + bytes.length, texts);
    assert.equal(await quotaOf(tour, headers, id), expected);
  });
  await stopped(tour, needed(program, 'second start'));
}

async function stopped(tour: Tour, running: Program): Promise<void> {
  await tour.step('SIGTERM ends everything within 15 s, with exit code 0', async () => {
    const { code, tookMs } = await running.stop();
    assert.equal(code, 0, running.output().slice(-2_000));
    assert.ok(tookMs < 15_000, `it took ${tookMs} ms`);
  });
  await tour.step('nothing is left running', async () => {
    assert.deepEqual(await processesOf(dataFolder), []);
    for (const url of [tour.client.baseUrl, ...tour.opsUrls])
      await assert.rejects(fetch(url), `${url} still answers`);
  });
}

/** What the program wrote that is worse than information, for whoever looks into a failure. */
function complaints(output: string): string {
  const lines = output.split('\n').filter((line) => !/"level":"(info|debug|trace)"/.test(line));
  return ['What the program printed beside information:', ...lines.slice(-60)].join('\n  ');
}

/** The first of some free ports in a row. */
async function rowOfPorts(count: number): Promise<number> {
  for (;;) {
    const first = await claim('127.0.0.1', 0, 'OPS_PORT');
    const free = Array.from({ length: count - 1 }, (_, index) =>
      claim('127.0.0.1', first + 1 + index, 'OPS_PORT'),
    );
    if ((await Promise.allSettled(free)).every(({ status }) => status === 'fulfilled')) return first;
  }
}
