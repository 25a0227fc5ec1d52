import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { newAttempt, type UploadAttempt } from '../users/oracle.ts';
import type { LoadUser } from './load-user.ts';

/** Times that a lost reply is asked for at once; then the attempt waits for the end of the round. */
const TRIES = 4;

/** One upload of one to three files, repeated with its key while its answer is not definite. */
export async function uploadSome(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  const count = random.chance(0.15) ? random.int(2, 3) : 1;
  const contents = Array.from({ length: count }, () => user.contents.draw(random, user.maxBytes / count));
  const attempt = newAttempt(user.newKey(random), contents, random.chance(0.3));
  user.tally.count('uploads', 'tried');
  const outcome = await repeat(user, attempt, random, stop);
  if (outcome === 'refused') user.tally.count('uploads', 'refused: no room');
  if (outcome === 'done' && random.chance(0.05)) await askAgain(user, attempt);
}

/** Sends it until the answer is definite, a few times at most. */
async function repeat(user: LoadUser, attempt: UploadAttempt, random: Random, stop: AbortSignal) {
  let outcome = await user.tryUpload(attempt);
  for (let tries = 1; outcome === 'unsure' && tries < TRIES && !stop.aborted; tries += 1) {
    await sleep(random.int(100, 1_500));
    outcome = await user.tryUpload(attempt);
  }
  return outcome;
}

/** The same key gives the same answer, and stores nothing: a new name would show in the listing at the end. */
async function askAgain(user: LoadUser, attempt: UploadAttempt): Promise<void> {
  const outcome = await user.tryUpload(attempt);
  if (outcome === 'done') user.tally.count('uploads', 'answered again by their key');
  if (outcome === 'refused')
    user.tally.violation(`${user.name}: an acknowledged upload was refused when repeated`);
}
