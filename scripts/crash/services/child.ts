import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChildOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Its output is appended here. */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A process that was started by this suite, which nothing but its own process id is ever used to end. */
export class Child {
  readonly #child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #hasExited = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true;
        resolve({ code, signal });
      });
    });
  }

  static async start({ program, args, cwd, logFile, env }: ChildOptions): Promise<Child> {
    const log = openSync(logFile, 'a');
    // A group of its own: Ctrl-C in the terminal reaches this suite only, which then ends its children in order.
    const child = spawn(program, args, {
      cwd,
      env: env ?? process.env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    const started = new Child(child);
    await once(child, 'spawn');
    return started;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('The process was not started.');
    return this.#child.pid;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) this.#child.kill(signal);
  }

  /** Sends the signal and waits; after `graceMs` it sends SIGKILL. Tells whether it went by itself. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<boolean> {
    this.signal(signal);
    const late = new AbortController();
    const inTime = await Promise.race([
      this.exited.then(() => true),
      sleep(graceMs, false, { signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    if (!inTime) this.signal('SIGKILL');
    await this.exited;
    return inTime;
  }

  /** Ends what the process may have left in its group. */
  endGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // Nothing is left.
    }
  }
}
