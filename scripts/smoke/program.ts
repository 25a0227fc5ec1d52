import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = join(import.meta.dirname, '../..');
const READY_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 15_000;

/** `npm start`, as a user runs it. */
export interface Program {
  readonly baseUrl: string;
  readonly readyAfterMs: number;
  readonly output: () => string;
  /** SIGTERM to npm. Returns the exit code and how long it took; kills it after the time that is promised. */
  stop(): Promise<{ code: number | string; tookMs: number }>;
}

export interface ProgramOptions {
  readonly dataFolder: string;
  readonly port: number;
  readonly opsPort: number;
}

export async function startProgram(options: ProgramOptions): Promise<Program> {
  const startedAt = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: {
      ...process.env,
      DATA_DIR: options.dataFolder,
      PORT: String(options.port),
      OPS_PORT: String(options.opsPort),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const keep = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited: Promise<number | string> = once(child, 'exit').then(([code, signal]) => code ?? signal);

  const deadline = startedAt + READY_DEADLINE_MS;
  let baseUrl: string | undefined;
  while (baseUrl === undefined) {
    baseUrl = /^Stowage is ready at (\S+)$/m.exec(text)?.[1];
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGTERM');
      throw new Error(`npm start did not become ready:\n${text}`);
    }
    await sleep(20);
  }
  const readyAfterMs = performance.now() - startedAt;

  return {
    baseUrl,
    readyAfterMs,
    output: () => text,
    async stop() {
      const from = performance.now();
      child.kill('SIGTERM');
      const late = new AbortController();
      const code = await Promise.race([
        exited,
        sleep(STOP_DEADLINE_MS + 1_000, 'still running', { signal: late.signal }).catch(
          () => 'still running',
        ),
      ]);
      late.abort();
      if (code === 'still running') child.kill('SIGKILL');
      return { code, tookMs: performance.now() - from };
    },
  };
}

/** Processes that have the data folder in their environment, command line, or as their directory (Linux only). */
export async function processesOf(dataFolder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const [environment, command, folder] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
      readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
    ]);
    if (environment.includes(dataFolder) || command.includes(dataFolder) || folder.startsWith(dataFolder)) {
      found.push(`${pid} ${command.replaceAll('\0', ' ')}`);
    }
  }
  return found;
}
