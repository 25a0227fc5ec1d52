import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** The next message of a program that was started for a measurement. Rejects when it ends without one. */
export async function oneMessage(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${child.spawnargs.at(-1)} ended without an answer`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
    return message;
  } finally {
    ended.catch(() => undefined);
    over.abort();
  }
}
