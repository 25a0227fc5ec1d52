import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** True while a process of that id is there and is not a zombie that nobody has collected yet. */
export async function isRunning(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The state follows the name, which stands in parentheses and may hold anything.
  return status.slice(status.lastIndexOf(')') + 2, status.lastIndexOf(')') + 3) !== 'Z';
}

/** True while the id is taken, also by a zombie or by a process of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // kill(2) throws nothing but errno errors
  }
}

/** The command line of a process, or '' when it is gone. */
export async function processCommand(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
  }
  return await run('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}

/** A process that can be told from a later one which got the same id. */
export interface ProcessIdentity {
  readonly name: string;
  readonly pid: number;
  /** When it was started, in a form that only equality is asked of. */
  readonly started: string;
}

export async function processIdentity(pid: number, name = 'supervisor'): Promise<ProcessIdentity> {
  return { name, pid, started: await processStart(pid) };
}

/** True while that very process runs. */
export async function isSameProcess(identity: ProcessIdentity): Promise<boolean> {
  return (await isRunning(identity.pid)) && (await processStart(identity.pid)) === identity.started;
}

async function processStart(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // Field 22 of stat(5), the 20th after the name: clock ticks from boot to the start.
    return `${boot.trim()} ${status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  }
  return await run('ps', ['-o', 'lstart=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}

export interface SignalStep {
  readonly signal: NodeJS.Signals;
  /** How long the process has to go before the next signal, in milliseconds. */
  readonly graceMs: number;
}

/** Sends one signal after the other until the process is gone; a negative id means its whole group. */
export async function signalUntilGone(pid: number, steps: readonly SignalStep[]): Promise<boolean> {
  for (const { signal, graceMs } of steps) {
    try {
      process.kill(pid, signal);
    } catch {
      return true;
    }
    const deadline = Date.now() + graceMs;
    while (Date.now() < deadline) {
      if (!(await isRunning(Math.abs(pid)))) return true;
      await sleep(20);
    }
  }
  return false;
}
