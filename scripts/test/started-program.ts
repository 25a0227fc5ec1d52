import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning } from '../start/processes.ts';
import { waitFor } from '../testing/wait-for.ts';

/** The supervisor with fake children, as a process of its own. */
export interface StartedProgram {
  readonly pid: number;
  /** Everything printed so far, both streams. */
  output(): string;
  /** Resolves with the ops port of the API once the ready line is there; rejects when the program ends first. */
  ready(): Promise<{ opsPort: number }>;
  kill(signal: NodeJS.Signals): void;
  /** As the terminal's Ctrl-C does: the signal reaches every process of the foreground group. */
  killGroup(signal: NodeJS.Signals): void;
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
}

const program = join(import.meta.dirname, 'fixtures/start-fakes.ts');

export function startProgram(env: Record<string, string>): StartedProgram {
  return run(process.execPath, [program], env);
}

/** The same through `npm start`, with npm and its shell in between, in a process group of its own. */
export async function startThroughNpm(folder: string, env: Record<string, string>): Promise<StartedProgram> {
  await mkdir(folder, { recursive: true });
  const manifest = {
    name: 'fakes',
    version: '1.0.0',
    scripts: { start: `exec "${process.execPath}" "${program}"` },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  return run('npm', ['start'], { ...env, npm_config_update_notifier: 'false' }, folder);
}

function run(command: string, args: string[], env: Record<string, string>, folder?: string): StartedProgram {
  const child = spawn(command, args, {
    cwd: folder,
    detached: folder !== undefined,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', OPS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid!;
  let text = '';
  const keep = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  return {
    pid,
    output: () => text,
    ended,
    kill: (signal) => void child.kill(signal),
    killGroup: (signal) => void process.kill(-pid, signal),
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
