import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { LoadUser } from './load-user.ts';
import { expectGone } from './read-one.ts';

const TRIES = 3;

/** Deletes a file, asking again while the answer is lost. */
export async function deleteOne(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  const { kept } = user.book;
  if (kept.length === 0) return;
  const file = random.pick(kept);
  user.tally.count('deletions', 'tried');
  let outcome = await user.tryDelete(file);
  for (let tries = 1; outcome === 'unsure' && tries < TRIES && !stop.aborted; tries += 1) {
    await sleep(random.int(100, 1_000));
    outcome = await user.tryDelete(file);
  }
  if (outcome === 'gone') await expectGone(user, file);
}
