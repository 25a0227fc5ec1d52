import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { waitFor } from '../testing/wait-for.ts';

/** One process of Stowage, started alone as an operator may. */
export interface StartedProcess {
  /** Port of the requests; only the API has one. */
  readonly port: number;
  readonly opsPort: number;
  isReady(): Promise<boolean>;
  kill(signal: NodeJS.Signals): void;
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  output(): string;
}

const root = join(import.meta.dirname, '../..');
const PATIENCE = { timeoutMs: 60_000 };

/** Starts a process with nothing but this environment, and waits until it is ready. */
export async function startProcess(main: string, env: Record<string, string>): Promise<StartedProcess> {
  const child: ChildProcess = spawn(process.execPath, [join(root, main)], {
    env: { PORT: '0', OPS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const keep = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  );
  const portIn = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  const opsPort = () => portIn(/"port":(\d+),"msg":"ops port is open"/);
  const started: StartedProcess = {
    get port() {
      return portIn(/Server listening at http:\/\/127\.0\.0\.1:(\d+)/);
    },
    get opsPort() {
      return opsPort();
    },
    isReady: async () =>
      opsPort() !== 0 &&
      (await fetch(`http://127.0.0.1:${opsPort()}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      )),
    kill: (signal) => void child.kill(signal),
    ended,
    output: () => text,
  };
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`${main} has ended:\n${text}`);
    return await started.isReady();
  }, PATIENCE);
  return started;
}
