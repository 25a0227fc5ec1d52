import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { deleteOne } from './delete-one.ts';
import { increaseQuota } from './increase-quota.ts';
import type { LoadUser } from './load-user.ts';
import { readOne } from './read-one.ts';
import { takeTurns } from './take-turns.ts';
import { uploadSome } from './upload-some.ts';
import type { Visitors } from './visitors.ts';

/** Requests of one user under way at once. */
const LOOPS_PER_USER = 2;
const PAUSE_MS = 300;
/** From here on a user deletes more than anything else. */
const NEARLY_FULL = 0.85;

export interface Load {
  /** Sends nothing more, and resolves when all answers are there or given up. */
  stop(): Promise<void>;
}

/** Parallel uploads, reads, deletions and changes of quotas by all users, until it is stopped. */
export function startLoad(users: readonly LoadUser[], visitors: Visitors, random: Random): Load {
  const stop = new AbortController();
  const loops = users.flatMap((user) =>
    user.takesTurns
      ? [takeTurns(user, random.fork(user.name), stop.signal)]
      : Array.from({ length: LOOPS_PER_USER }, (_, index) =>
          loop(user, random.fork(`${user.name} ${index}`), stop.signal),
        ),
  );
  const ended = Promise.all([...loops, visitors.come(random.fork('visitors'), stop.signal)]);
  return {
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

async function loop(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await act(user, random, stop);
    await sleep(random.int(0, PAUSE_MS));
  }
}

async function act(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  const nearlyFull = user.book.storedBytes > user.maxBytes * NEARLY_FULL;
  const what = random.next();
  if (what < (nearlyFull ? 0.25 : 0.5)) await uploadSome(user, random, stop);
  else if (what < 0.7) await readOne(user, random);
  else if (what < (nearlyFull ? 0.97 : 0.8)) await deleteOne(user, random, stop);
  else if (what < 0.97) await readOne(user, random);
  else await increaseQuota(user, random);
}
