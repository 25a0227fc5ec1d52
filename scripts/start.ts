import { join } from 'node:path';
import { ConfigError } from '@stowage/shared/config/config.ts';
import { createLogOutput } from './start/log-output.ts';
import type { ProcessDefinition } from './start/plan.ts';
import { StartError } from './start/start-error.ts';
import { listenForStop } from './start/stop-signals.ts';
import { supervise } from './start/supervisor.ts';

const root = join(import.meta.dirname, '..');

/** Starts all of Stowage on this machine, with embedded parts for whatever is not configured. */
const PROCESSES: readonly ProcessDefinition[] = [
  { name: 'api', entry: join(root, 'apps/api/src/main.ts') },
  ...['thumbnails', 'quota-accounting', 'cleanup', 'mail'].map((worker) => ({
    name: `worker-${worker}`,
    entry: join(root, 'workers', worker, 'src/main.ts'),
  })),
];

const EXIT_FAILED = 1;
const EXIT_BAD_CONFIGURATION = 78;

const terminal = process.stdout.isTTY === true;
// Whoever read our output may leave before us; that is no reason to fall over half-way through a stop.
process.stdout.on('error', () => undefined);
try {
  await supervise({
    env: process.env,
    processes: PROCESSES,
    output: createLogOutput(terminal),
    terminal,
    signals: listenForStop(),
    print: (text) => process.stdout.write(text),
  });
  process.exit(0);
} catch (error) {
  if (error instanceof ConfigError || error instanceof StartError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(error instanceof ConfigError ? EXIT_BAD_CONFIGURATION : EXIT_FAILED);
  }
  console.error('Stowage could not start:', error);
  process.exit(EXIT_FAILED);
}
