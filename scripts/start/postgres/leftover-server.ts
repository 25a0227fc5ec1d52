import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, processCommand, signalUntilGone } from '../processes.ts';

/** Stands in the command line of the server, so that its process can be told from any other with the same id. */
export function clusterName(dataFolder: string): string {
  return `stowage-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}`;
}

/**
 * Stops the server of this data folder that a killed supervisor left running, and says whether there was one.
 * A process that only happens to have the id in `postmaster.pid` is left alone.
 */
export async function stopLeftoverServer(dataFolder: string): Promise<boolean> {
  const text = await readFile(join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!(pid > 1) || !isAlive(pid)) return false;
  const command = await processCommand(pid);
  if (!command.includes(clusterName(dataFolder))) return false;
  // SIGINT is Postgres's fast shutdown: open transactions are rolled back, everything is flushed.
  await signalUntilGone(pid, [
    { signal: 'SIGINT', graceMs: 10_000 },
    { signal: 'SIGQUIT', graceMs: 3_000 },
    { signal: 'SIGKILL', graceMs: 3_000 },
  ]);
  return true;
}
