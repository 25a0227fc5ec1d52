import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { signalGroup } from './child.ts';
import { isSameProcess, type ProcessIdentity, signalUntilGone } from './processes.ts';

/** Ends the children of a supervisor that was killed. They have noticed by themselves; this waits, then insists. */
export async function endLeftoverChildren(
  children: readonly ProcessIdentity[],
  logger: Logger,
): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (!(await isSameProcess(child))) return;
      logger.warn(
        { process: child.name, pid: child.pid },
        'ending a process that an earlier start left running',
      );
      await signalUntilGone(child.pid, [
        { signal: 'SIGTERM', graceMs: 12_000 },
        { signal: 'SIGKILL', graceMs: 2_000 },
      ]);
      signalGroup(child.pid, 'SIGKILL');
    }),
  );
}
