import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FromChild, ToChild } from './child-protocol.ts';

const PROGRAM = fileURLToPath(new URL('./render-child.ts', import.meta.url));
const NICE_PROGRAMS = ['/usr/bin/nice', '/bin/nice'];
const STDERR_KEPT_CHARS = 2_000;

/**
 * What keeps a child small, a third less at its peak: it collects its garbage after each picture (`gc` of --expose-gc),
 * and its allocator gives large pieces back to the system at once instead of keeping them for later.
 */
const SMALL_HEAP = ['--expose-gc', '--max-semi-space-size=1'];
const SMALL_MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '4194304',
};

export interface RenderProcessListener {
  message(message: FromChild): void;
  /** The process has ended, for that reason. */
  end(reason: string): void;
}

/** One render child as its parent sees it: messages there, messages back, and an end. */
export interface RenderProcess {
  readonly pid: number | undefined;
  readonly ended: boolean;
  /** Resolves when the message has been written. Rejects when the child is gone. */
  send(message: ToChild): Promise<void>;
  /** Who is told of messages and of the end. One listener at a time. */
  listen(listener: RenderProcessListener | undefined): void;
  /** Ends it at once. Resolves when it has ended. */
  kill(): Promise<void>;
}

/**
 * Starts a render child. It is started through the `nice` program where there is one: setting the priority from
 * inside leaves the threads that already run as they were.
 * @param nice scheduling priority 0…19 (19 yields to everything else)
 */
export function openRenderProcess(nice: number): RenderProcess {
  const niceProgram = NICE_PROGRAMS.find((path) => existsSync(path));
  const node = [process.execPath, ...SMALL_HEAP, PROGRAM];
  const [command = process.execPath, ...args] =
    niceProgram === undefined ? node : [niceProgram, '-n', String(nice), ...node];
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    // Nothing of this process's environment, so that the child holds no secrets.
    // One picture at a time needs few threads.
    env: { ...SMALL_MALLOC, UV_THREADPOOL_SIZE: '2' },
  });
  let listener: RenderProcessListener | undefined;
  let ended = false;
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-STDERR_KEPT_CHARS);
  });
  const end = (reason: string) => {
    if (ended) return;
    ended = true;
    listener?.end(complaint === '' ? reason : `${reason}: ${complaint.trim()}`);
  };
  // Only our own program writes to this channel, in the shape of child-protocol.ts.
  child.on('message', (message) => listener?.message(message as FromChild));
  child.on('error', (error) => end(error.message));
  child.on('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`));
  return {
    get pid() {
      return child.pid;
    },
    get ended() {
      // The channel closes before the exit is reported.
      return ended || !child.connected;
    },
    listen: (next) => {
      listener = next;
    },
    send: (message) => sendTo(child, message),
    kill: () => killAndWait(child),
  };
}

function sendTo(child: ChildProcess, message: ToChild): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!child.connected) return reject(new Error('the render child is gone'));
    child.send(message, undefined, undefined, (error) => (error ? reject(error) : resolve()));
  });
}

async function killAndWait(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
