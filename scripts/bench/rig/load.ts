import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadRequest, LoadResult } from '../programs/load-program.ts';

const PROGRAM = join(import.meta.dirname, '../programs/load-program.ts');

/** Sends requests from a process of its own, so that sending them takes nothing from who is measured. */
export async function load(request: LoadRequest): Promise<LoadResult> {
  const child = fork(PROGRAM, { serialization: 'advanced' });
  child.send(request);
  // The program sends one message, a LoadResult; it ends without only when it fails.
  const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (typeof answer !== 'object' || answer === null) throw new Error('the load program failed');
  return answer as LoadResult;
}
