import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { type BackOffOptions, createBackOff } from './back-off.ts';
import type { LogOutput } from './log-output.ts';
import { type ProcessIdentity, processIdentity } from './processes.ts';

export interface ChildOptions {
  readonly name: string;
  /** File that Node runs. */
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly output: LogOutput;
  readonly backOff: BackOffOptions;
  /** Told after each start, with the new process. */
  readonly onStart: (identity: ProcessIdentity) => void;
}

export interface Child {
  readonly name: string;
  /** Faults in a row, until a run was long enough. */
  readonly faults: number;
  /** How the last run ended, if one did. */
  readonly lastExit: string | undefined;
  /** SIGTERM; resolves when the process and all it started are gone. It is not restarted. */
  stop(): Promise<void>;
  /** SIGKILL for the process and all it started. */
  kill(): void;
}

/**
 * Keeps one process running: in a process group of its own (a Ctrl-C in the terminal does not reach it, and all that
 * it started can be ended with it), restarted with back-off when it ends. The IPC channel tells it when this
 * process is gone.
 */
export function startChild(options: ChildOptions): Child {
  const { name, logger, output } = options;
  const backOff = createBackOff(options.backOff);
  const stopping = new AbortController();
  let current: ChildProcess | undefined;
  let lastExit: string | undefined;

  const runOnce = async (): Promise<void> => {
    const child = spawn(process.execPath, [options.entry], {
      env: options.env,
      detached: true,
      stdio: ['ignore', output.stdio, output.stdio, 'ipc'],
    });
    current = child;
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    output.attach(child);
    if (child.pid !== undefined) options.onStart(await processIdentity(child.pid, name));
    lastExit = await ended;
    current = undefined;
    // What it started belongs to its group and must not outlive it.
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  };

  const keepRunning = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      await runOnce();
      if (stopping.signal.aborted) return;
      const delayMs = backOff.next(performance.now() - startedAt);
      logger.error(
        { process: name, ended: lastExit, restartInMs: delayMs },
        'a process ended and is restarted',
      );
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const done = keepRunning();

  return {
    name,
    get faults() {
      return backOff.faults;
    },
    get lastExit() {
      return lastExit;
    },
    async stop() {
      stopping.abort();
      current?.kill('SIGTERM');
      await done;
    },
    kill() {
      stopping.abort();
      if (current?.pid !== undefined) signalGroup(current.pid, 'SIGKILL');
    },
  };
}

/** Sends a signal to a process and all that it started; nothing happens when they are gone. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nobody is left.
  }
}
