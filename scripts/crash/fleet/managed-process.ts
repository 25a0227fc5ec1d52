import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../services/child.ts';
import type { Tally } from '../tally.ts';
import type { ProcessKind } from './environment.ts';

export interface ManagedProcessOptions {
  readonly kind: ProcessKind;
  /** 1 or 2. */
  readonly number: number;
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  readonly opsPort: number;
  /** Only of the API. */
  readonly port: number;
  readonly logFile: string;
  /** Whether a fault point has just ended the process of this id. */
  readonly wasOrdered: (pid: number) => boolean;
  readonly tally: Tally;
}

/** Beyond the program's own grace for requests, jobs and releases. */
const TERM_GRACE_MS = 15_000;
const RESTART_AFTER_MS = 200;
const FAILED_START_PAUSE_MS = 1_000;
const READY_DEADLINE_MS = 90_000;

/** A process of Stowage, with what a supervisor does: it is started again whenever it ends. */
export class ManagedProcess {
  readonly name: string;
  readonly kind: ProcessKind;
  readonly port: number;
  readonly #options: ManagedProcessOptions;
  #child: Child | undefined;
  #expected = false;
  #paused = false;
  #closing = false;
  #wasReady = false;
  #supervising: Promise<void> | undefined;

  constructor(options: ManagedProcessOptions) {
    this.#options = options;
    this.name = `${options.kind} ${options.number}`;
    this.kind = options.kind;
    this.port = options.port;
  }

  /** Whether it runs, undisturbed: what a fault may be done to. */
  get isWhole(): boolean {
    return this.#child !== undefined && !this.#child.hasExited && !this.#paused && !this.#expected;
  }

  start(): void {
    this.#supervising ??= this.#supervise();
  }

  /** Resolves when its ops port says that it is ready. */
  async ready(): Promise<void> {
    const deadline = Date.now() + READY_DEADLINE_MS;
    while (Date.now() < deadline) {
      if (await this.#isReady()) {
        this.#wasReady = true;
        return;
      }
      await sleep(100);
    }
    throw new Error(`${this.name} is not ready after ${READY_DEADLINE_MS / 1_000} s: see its log.`);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#expected = true;
    child?.signal('SIGKILL');
    await child?.exited;
  }

  /** SIGTERM, as a rolling restart sends it. The program must end in time and with 0. */
  async terminate(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.hasExited) return;
    this.#expected = true;
    const { tally } = this.#options;
    const wasReady = this.#wasReady;
    if (!(await child.end('SIGTERM', TERM_GRACE_MS)))
      tally.violation(`${this.name} did not end within ${TERM_GRACE_MS / 1_000} s of SIGTERM`);
    else if (wasReady) {
      const { code, signal } = await child.exited;
      if (code !== 0) tally.violation(`${this.name} ended with ${code ?? signal} after SIGTERM`);
    }
  }

  pause(): void {
    this.#paused = true;
    this.#child?.signal('SIGSTOP');
  }

  wake(): void {
    this.#child?.signal('SIGCONT');
    this.#paused = false;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#expected = true;
    this.wake();
    await this.#child?.end('SIGTERM', TERM_GRACE_MS);
    await this.#supervising;
  }

  async #supervise(): Promise<void> {
    while (!this.#closing) {
      this.#expected = false;
      this.#paused = false;
      this.#wasReady = false;
      const { entry, env, logFile } = this.#options;
      const child = await Child.start({
        program: process.execPath,
        args: [entry],
        cwd: process.cwd(),
        logFile,
        env,
      });
      this.#child = child;
      void this.ready().catch(() => undefined);
      const { code, signal } = await child.exited;
      // Its render children follow it by themselves; what did not is ended with the group.
      setTimeout(() => child.endGroup(), 2_000).unref();
      if (this.#closing) return;
      await this.#judge(child.pid, code ?? signal);
    }
  }

  async #judge(pid: number, end: number | string | null): Promise<void> {
    const { tally, wasOrdered } = this.#options;
    if (this.#expected || wasOrdered(pid)) {
      await sleep(RESTART_AFTER_MS);
    } else if (!this.#wasReady) {
      // A service that it needs for its start is away: its supervisor tries again.
      tally.count('processes', `${this.kind} did not start, tried again`);
      await sleep(FAILED_START_PAUSE_MS);
    } else {
      tally.violation(`${this.name} ended by itself with ${end}`);
    }
  }

  async #isReady(): Promise<boolean> {
    const url = `http://127.0.0.1:${this.#options.opsPort}/health/ready`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.ok === true;
  }
}

/** Tells by the files that `faultPoint` leaves behind. */
export function orderedEnd(folder: string): (pid: number) => boolean {
  return (pid) => readdirSync(folder).some((name) => name.includes(`.${pid}.`) && name.endsWith('.taken'));
}
