import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { AppError } from '../errors/app-error.ts';
import { assertFileFitsMemory } from './decoder-memory.ts';
import { openRenderProcess, type RenderProcess } from './render-process.ts';
import type { RenderedPicture } from './render-request.ts';
import { childIsClean, type RenderTask, renderIn } from './render-task.ts';

export interface RenderPoolOptions {
  /** Most render children at once; each works on one picture. */
  readonly children: number;
  /** ms one picture may take before its child is killed. */
  readonly deadlineMs: number;
  readonly maxInputPixels: number;
  readonly logger: Logger;
  /** Scheduling priority of the children, 0…19. */
  readonly nice?: number;
  /** ms after which a child without work is ended; one always stays warm. */
  readonly idleMs?: number;
  /** Pictures after which a child is replaced, so that a slow leak in a decoder stays small. */
  readonly picturesPerChild?: number;
  /** Told of the end of each render: `ok` or the code of the error, and its time in a child in seconds. */
  readonly onRendered?: (outcome: string, seconds: number) => void;
}

/** Renders pictures in child processes: what crashes, hangs or takes over a decoder ends only its own child. */
export interface RenderPool {
  /** @throws AppError as `renderIn`, or SHUTTING_DOWN after `close` */
  render(task: RenderTask): Promise<RenderedPicture>;
  /** Process ids of the children that run now: for measuring them. */
  readonly pids: readonly number[];
  /** Starts one child, so that the first picture does not wait for it. */
  warm(): Promise<void>;
  /** Ends all children, also those at work. */
  close(): Promise<void>;
}

interface PooledChild {
  readonly process: RenderProcess;
  pictures: number;
  idleTimer?: NodeJS.Timeout;
}

/** For a child to start or to answer, on a machine that is busy with everything else. */
const READY_DEADLINE_MS = 30_000;

/** A pool without children: each is started when it is first needed. */
export function createRenderPool(options: RenderPoolOptions): RenderPool {
  const { deadlineMs, logger, nice = 19, idleMs = 60_000, picturesPerChild = 500 } = options;
  const limit = pLimit(options.children);
  // A little above the parent's own deadline, as a second net inside the child.
  const limits = { maxInputPixels: options.maxInputPixels, timeoutSeconds: Math.ceil(deadlineMs / 1000) + 5 };
  const children = new Set<PooledChild>();
  const idle: PooledChild[] = [];
  let closed = false;

  async function start(): Promise<PooledChild> {
    const child: PooledChild = { process: openRenderProcess(nice), pictures: 0 };
    children.add(child);
    try {
      await isReady(child.process, async () => {});
    } catch (error) {
      await end(child);
      throw error;
    }
    return child;
  }

  async function end(child: PooledChild): Promise<void> {
    clearTimeout(child.idleTimer);
    children.delete(child);
    if (idle.includes(child)) idle.splice(idle.indexOf(child), 1);
    await child.process.kill();
  }

  /** Asked first: one that died while it was idle must not be blamed on the next picture. */
  async function takeIdle(): Promise<PooledChild | undefined> {
    for (let child = idle.pop(); child !== undefined; child = idle.pop()) {
      clearTimeout(child.idleTimer);
      try {
        await isReady(child.process, () => child.process.send({ type: 'ping' }));
        return child;
      } catch (error) {
        logger.warn({ err: error, pid: child.process.pid }, 'an idle render child has died');
        await end(child);
      }
    }
    return undefined;
  }

  async function giveBack(child: PooledChild): Promise<void> {
    if (closed || child.process.ended || child.pictures >= picturesPerChild) return await end(child);
    idle.push(child);
    child.idleTimer = setTimeout(() => {
      // The longest idle leaves; the last one stays for the next picture.
      if (idle.length > 1 && idle[0] !== undefined) void end(idle[0]);
    }, idleMs).unref();
  }

  async function renderNow(task: RenderTask): Promise<RenderedPicture> {
    task.signal?.throwIfAborted();
    if (closed) throw shuttingDown();
    const child = (await takeIdle()) ?? (await start());
    const source = await task.openSource().catch(async (error: unknown) => {
      await giveBack(child);
      throw error;
    });
    try {
      // The child would hold all of it.
      assertFileFitsMemory(source.length, limits.maxInputPixels);
    } catch (error) {
      source.stream.destroy();
      await giveBack(child);
      throw error;
    }
    const startedAt = performance.now();
    const report = (outcome: string) =>
      options.onRendered?.(outcome, (performance.now() - startedAt) / 1_000);
    child.pictures += 1;
    try {
      const picture = await renderIn(child.process, task, source, limits, deadlineMs);
      await giveBack(child);
      report('ok');
      return picture;
    } catch (error) {
      if (childIsClean(error)) {
        await giveBack(child);
      } else {
        logger.warn({ err: error, pid: child.process.pid }, 'a render child is replaced');
        await end(child);
      }
      report(error instanceof AppError ? error.code : 'INTERNAL');
      throw closed ? shuttingDown(error) : error;
    }
  }

  return {
    get pids() {
      return [...children].flatMap((child) => child.process.pid ?? []);
    },
    render: (task) => untilAborted(limit(renderNow, task), task.signal),
    warm: async () => {
      await limit(async () => {
        if (children.size === 0 && !closed) await giveBack(await start());
      });
    },
    close: async () => {
      closed = true;
      await Promise.all([...children].map(end));
    },
  };
}

/** Waits until the child has said that it is ready, which it says when it starts and when it is asked. */
async function isReady(child: RenderProcess, ask: () => Promise<void>): Promise<void> {
  const ready = Promise.withResolvers<void>();
  const failed = (reason: string) =>
    ready.reject(
      new AppError('RENDER_CRASHED', 'The render process does not answer.', { cause: new Error(reason) }),
    );
  const timer = setTimeout(() => failed('it took too long'), READY_DEADLINE_MS);
  child.listen({ message: () => ready.resolve(), end: failed });
  try {
    await Promise.all([ready.promise, ask()]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects as soon as the signal is aborted, also while the work still waits for its turn. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function shuttingDown(cause?: unknown): AppError {
  return new AppError('SHUTTING_DOWN', 'The process is ending.', { cause });
}
