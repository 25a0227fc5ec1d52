import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { AppError } from '../../errors/app-error.ts';
import { createLogger } from '../../logging/create-logger.ts';
import { createRenderPool, type RenderPool, type RenderPoolOptions } from '../render-pool.ts';
import type { RenderedVariant } from '../render-request.ts';
import type { RenderTask } from '../render-task.ts';

let source: Buffer;
beforeAll(async () => {
  source = await makePicture({ width: 1200, height: 900, format: 'jpeg' });
});

const pools: RenderPool[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

function openPool(options: Partial<RenderPoolOptions> = {}): RenderPool {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const pool = createRenderPool({
    children: 2,
    deadlineMs: 30_000,
    maxInputPixels: 100_000_000,
    logger,
    // Tests of other files must not starve these.
    nice: 0,
    ...options,
  });
  pools.push(pool);
  return pool;
}

function task(options: Partial<RenderTask> = {}): RenderTask {
  return {
    request: { cause: 'request', widths: [640], formats: ['webp'] },
    openSource: async () => ({ stream: Readable.from([source]), length: source.length }),
    onVariant: () => {},
    ...options,
  };
}

/** A source whose last bytes come when they are let through, so that its render is certainly under way. */
function heldSource() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  async function* bytes() {
    yield source.subarray(0, 1_000);
    reading.resolve();
    await promise;
    yield source.subarray(1_000);
  }
  const openSource = async () => ({ stream: Readable.from(bytes()), length: source.length });
  return { openSource, release, reading: reading.promise };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

describe('a child that dies', () => {
  test('fails its own picture and no other', async () => {
    const pool = openPool();
    const first = heldSource();
    const doomed = pool.render(task({ openSource: first.openSource }));
    await first.reading;
    const [pid] = pool.pids;
    const second = heldSource();
    const neighbour = pool.render(task({ openSource: second.openSource }));
    await second.reading;
    process.kill(pid!, 'SIGKILL');
    await expect(doomed).rejects.toMatchObject({ code: 'RENDER_CRASHED' });
    second.release();
    await expect(neighbour).resolves.toMatchObject({ width: 1200, height: 900 });
    await expect(pool.render(task())).resolves.toMatchObject({ width: 1200 });
  });

  test('while it waits for work is replaced without anybody noticing', async () => {
    const pool = openPool();
    await pool.warm();
    const [pid] = pool.pids;
    process.kill(pid!, 'SIGKILL');
    await waitFor(() => !isAlive(pid!));
    await expect(pool.render(task())).resolves.toMatchObject({ width: 1200 });
    expect(pool.pids).not.toContain(pid);
  });
});

test('a child that hangs is killed at the deadline, and the next picture is rendered', async () => {
  const pool = openPool({ deadlineMs: 4_000 });
  const held = heldSource();
  const hanging = pool.render(task({ openSource: held.openSource }));
  await held.reading;
  const [pid] = pool.pids;
  process.kill(pid!, 'SIGSTOP');
  held.release();
  await expect(hanging).rejects.toMatchObject({ code: 'RENDER_TIMED_OUT' });
  expect(isAlive(pid!)).toBe(false);
  await expect(pool.render(task())).resolves.toMatchObject({ width: 1200 });
});

test('a source that stalls is the store’s fault, not the picture’s', async () => {
  const pool = openPool({ deadlineMs: 700 });
  const held = heldSource();
  const stalled = pool.render(task({ openSource: held.openSource }));
  await expect(stalled).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' });
  held.release();
});

test('a source that fails fails the render with its own error', async () => {
  const pool = openPool();
  const error = new AppError('OBJECT_STORE_UNAVAILABLE', 'gone');
  async function* broken() {
    yield source.subarray(0, 10);
    throw error;
  }
  const openSource = async () => ({ stream: Readable.from(broken()), length: source.length });
  await expect(pool.render(task({ openSource }))).rejects.toBe(error);
  await expect(pool.render(task({ openSource: () => Promise.reject(error) }))).rejects.toBe(error);
  await expect(pool.render(task())).resolves.toMatchObject({ width: 1200 });
});

test('a source that is shorter or longer than announced is not rendered', async () => {
  const pool = openPool();
  for (const length of [source.length - 1, source.length + 1]) {
    const openSource = async () => ({ stream: Readable.from([source]), length });
    await expect(pool.render(task({ openSource }))).rejects.toMatchObject({ code: 'RENDER_CRASHED' });
  }
});

test('a source that is larger than there is memory for is refused before a byte of it is read', async () => {
  const pool = openPool({ maxInputPixels: 1_000_000 });
  await pool.warm();
  const before = pool.pids;
  const stream = Readable.from([source]);
  const openSource = async () => ({ stream, length: 3_000_001 });
  await expect(pool.render(task({ openSource }))).rejects.toMatchObject({ code: 'PICTURE_TOO_LARGE' });
  expect(stream.destroyed).toBe(true);
  expect(pool.pids).toEqual(before);
});

test('never more children than allowed, and one stays warm', async () => {
  const pool = openPool({ children: 2, idleMs: 50 });
  const held = [heldSource(), heldSource()];
  const renders = held.map(({ openSource }) => pool.render(task({ openSource })));
  await Promise.all(held.map(({ reading }) => reading));
  const third = pool.render(task());
  expect(pool.pids).toHaveLength(2);
  for (const { release } of held) release();
  await Promise.all([...renders, third]);
  await waitFor(() => pool.pids.length === 1);
  const [warm] = pool.pids;
  await pool.render(task());
  expect(pool.pids).toEqual([warm]);
});

test('a child is replaced after so many pictures', async () => {
  const pool = openPool({ picturesPerChild: 1 });
  await pool.warm();
  const [first] = pool.pids;
  await pool.render(task());
  await pool.render(task());
  expect(pool.pids).not.toContain(first);
});

test('an abort ends a render that is under way, and one that waits for its turn', async () => {
  const pool = openPool({ children: 1 });
  const held = heldSource();
  const [running, waiting] = [new AbortController(), new AbortController()];
  const first = pool.render(task({ openSource: held.openSource, signal: running.signal }));
  await held.reading;
  const second = pool.render(task({ signal: waiting.signal }));
  waiting.abort(new Error('left the queue'));
  await expect(second).rejects.toThrow('left the queue');
  running.abort(new Error('left'));
  await expect(first).rejects.toThrow('left');
  held.release();
  await expect(pool.render(task())).resolves.toMatchObject({ width: 1200 });
});

test('variants come one by one, before the last of them is encoded', async () => {
  const pool = openPool();
  const order: string[] = [];
  const rendered = pool.render(
    task({
      request: { cause: 'ahead', widths: [1024, 512], formats: ['jpeg', 'webp'] },
      onVariant: ({ width, format }: RenderedVariant) => order.push(`${width} ${format}`),
    }),
  );
  await rendered.then(() => order.push('done'));
  expect(order).toEqual(['1024 jpeg', '1024 webp', '512 jpeg', '512 webp', 'done']);
});

test('children are the first to die when memory runs out', async () => {
  const pool = openPool();
  await pool.warm();
  expect(readFileSync(`/proc/${pool.pids[0]}/oom_score_adj`, 'utf8').trim()).toBe('800');
});

test('children run at the lowest priority, with nothing of this process’s environment', async () => {
  const pool = openPool({ nice: 19 });
  await pool.warm();
  const [pid] = pool.pids;
  // Field 19 of proc(5)'s stat, counted after the name in parentheses.
  const niceness = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[16];
  expect(niceness).toBe('19');
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.split('=')[0]);
  expect(names.toSorted()).toEqual([
    'MALLOC_ARENA_MAX',
    'MALLOC_MMAP_THRESHOLD_',
    'MALLOC_TRIM_THRESHOLD_',
    'NODE_CHANNEL_FD',
    'NODE_CHANNEL_SERIALIZATION_MODE',
    'UV_THREADPOOL_SIZE',
  ]);
});

test('after close there is no child and no render', async () => {
  const pool = openPool();
  const held = heldSource();
  const running = pool.render(task({ openSource: held.openSource }));
  await held.reading;
  const [pid] = pool.pids;
  await Promise.all([expect(running).rejects.toMatchObject({ code: 'SHUTTING_DOWN' }), pool.close()]);
  expect(isAlive(pid!)).toBe(false);
  await expect(pool.render(task())).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  held.release();
});

test('children die with a parent that is killed', async () => {
  const program = fileURLToPath(new URL('./fixtures/hold-a-pool.ts', import.meta.url));
  const parent = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(String(line));
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await waitFor(() => !isAlive(pid));
});
