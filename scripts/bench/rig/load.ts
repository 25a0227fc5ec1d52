import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadRequest, LoadResult } from '../programs/load-program.ts';
import { oneMessage } from './one-message.ts';

const PROGRAM = join(import.meta.dirname, '../programs/load-program.ts');

/** Sends requests from a process of its own, so that sending them takes nothing from who is measured. */
export async function load(request: LoadRequest): Promise<LoadResult> {
  const child = fork(PROGRAM, { serialization: 'advanced' });
  child.send(request);
  return (await oneMessage(child)) as LoadResult; // the program sends nothing else
}
