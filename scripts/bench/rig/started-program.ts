import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../start/postgres/embedded-postgres.ts';

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Where its output goes. */
  readonly logFile: string;
  /** Resolves, true, once it can be used. */
  readonly isReady: () => Promise<boolean>;
}

/** A program that was started for a measurement. */
export interface StartedProgram {
  readonly pid: number;
  stop(): Promise<void>;
}

const READY_DEADLINE_MS = 60_000;

/** Starts a program and waits until it is ready; shows its output when it never is. */
export async function startProgram(options: ProgramOptions): Promise<StartedProgram> {
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    env: options.env ?? process.env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  await once(child, 'spawn');
  const deadline = Date.now() + READY_DEADLINE_MS;
  while (!(await options.isReady().catch(() => false))) {
    if (hasEnded(child) || Date.now() > deadline) {
      await stop(child);
      throw new Error(
        `${options.command} did not become ready:\n${(await readFile(options.logFile, 'utf8')).slice(-2_000)}`,
      );
    }
    await sleep(20);
  }
  return { pid: child.pid ?? 0, stop: () => stop(child) };
}

/** True when something answers HTTP there with a status below 400. */
export async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
  await response.body?.cancel();
  return response.ok;
}

export async function freePort(): Promise<number> {
  return await findFreePort();
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exit;
  clearTimeout(timer);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
