import { setTimeout as sleep } from 'node:timers/promises';
import type { Content } from '../users/contents.ts';
import { type KeptFile, newAttempt, type UploadAttempt } from '../users/oracle.ts';
import type { PointDeps } from './scenario.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 200;

/** Uploads one file, and repeats it with its key until the answer is definite. */
export async function uploadUntilKept(deps: PointDeps, content: Content): Promise<KeptFile> {
  const { user, random } = deps;
  const known = new Set(user.book.files.keys());
  const attempt = newAttempt(user.newKey(random), [content]);
  user.tally.count('uploads', 'tried');
  await untilAcknowledged(deps, attempt);
  const kept = [...user.book.files.values()].find((file) => !known.has(file.name));
  if (kept === undefined) throw new Error('An acknowledged upload has no name.');
  return kept;
}

export async function untilAcknowledged({ user }: PointDeps, attempt: UploadAttempt): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (Date.now() < deadline) {
    if ((await user.tryUpload(attempt)) === 'done') return;
    await sleep(PAUSE_MS);
  }
  throw new Error('An upload was not acknowledged within a minute, with nothing else going on.');
}

/** Deletes a file, and asks again until the answer is definite. */
export async function deleteUntilGone({ user }: PointDeps, file: KeptFile): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  user.tally.count('deletions', 'tried');
  while (Date.now() < deadline) {
    if ((await user.tryDelete(file)) === 'gone') return;
    await sleep(PAUSE_MS);
  }
  throw new Error('A deletion was not acknowledged within a minute, with nothing else going on.');
}

/** Asks again and again until the answer is something, or the time is over. */
export async function eventually<T>(
  question: () => Promise<T | undefined>,
  deadlineMs = PATIENCE_MS,
): Promise<T | undefined> {
  const deadline = Date.now() + deadlineMs;
  while (Date.now() < deadline) {
    const answer = await question().catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(50);
  }
  return undefined;
}
