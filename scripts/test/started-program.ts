import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isRunning } from '../start/processes.ts';
import { waitFor } from '../testing/wait-for.ts';

/** The supervisor with fake children, as a process of its own. */
export interface StartedProgram {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Everything printed so far, both streams. */
  output(): string;
  /** Resolves with the ports and processes once the ready line is there; rejects when it ends first. */
  ready(): Promise<{ opsPort: number }>;
  /** The exit code, or the signal's name. */
  ended: Promise<number | string>;
}

const program = join(import.meta.dirname, 'fixtures/start-fakes.ts');

export function startProgram(env: Record<string, string>): StartedProgram {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', OPS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  return {
    child,
    pid: child.pid!,
    output: () => text,
    ended,
    async ready() {
      const opsPort = await waitFor(() => {
        if (child.exitCode !== null) throw new Error(`it ended before it was ready:\n${text}`);
        return /queue dashboard +http:\/\/127\.0\.0\.1:(\d+)\/queues/.exec(text)?.[1];
      });
      return { opsPort: Number(opsPort) };
    },
  };
}

export async function untilGone(pids: readonly number[]): Promise<void> {
  await waitFor(async () => (await Promise.all(pids.map(isRunning))).every((running) => !running));
}
