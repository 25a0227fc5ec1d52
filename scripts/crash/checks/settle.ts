import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { LoadUser } from '../load/load-user.ts';
import type { World } from '../world.ts';

const PAUSE_MS = 300;

/** Waits until no request is under way any more: then a refusal means that nothing is stored. */
export async function untilNoUploadRuns({ db }: World, until: number): Promise<boolean> {
  for (let quiet = 0; Date.now() < until; ) {
    const { rows } = await sql`SELECT FROM uploads WHERE state = 'open' LIMIT 1`.execute(db).catch(() => ({
      rows: [undefined],
    }));
    quiet = rows.length === 0 ? quiet + 1 : 0;
    if (quiet === 3) return true;
    await sleep(PAUSE_MS);
  }
  return false;
}

/** Gets a definite answer to everything whose answer was lost, by asking again. */
export async function settle(user: LoadUser, until: number): Promise<void> {
  const { book, tally } = user;
  await again(until, async () => {
    for (const attempt of book.unsettled) {
      // Nothing of it is under way any more, so a refusal is definite.
      attempt.unsure = false;
      const outcome = await user.tryUpload(attempt);
      if (outcome === 'unsure') continue;
      book.unsettled.delete(attempt);
      const row = outcome === 'refused' ? 'refused: no room' : 'acknowledged when repeated with their key';
      tally.count('uploads', row);
    }
    for (const file of book.unsure) await user.tryDelete(file);
    return book.unsettled.size === 0 && book.unsure.length === 0;
  });
  if (book.unsettled.size > 0 || book.unsure.length > 0)
    tally.violation(`${user.name}: requests get no definite answer with all faults off`);
}

/** A `set` without an answer is sent again once all refunds are done: then it has the result that it had before. */
export async function settleSet(user: LoadUser, until: number): Promise<void> {
  const { book } = user;
  const target = book.unsureSet;
  if (target === undefined) return;
  const settled = await again(until, async () => {
    const outcome = await user.changeQuota('/quota/set', { user_id: user.id, new_quota_bytes: target });
    if (typeof outcome === 'object') book.adjustment = target - book.storedBytes;
    return outcome !== 'unsure';
  });
  if (settled) book.unsureSet = undefined;
}

async function again(until: number, attempt: () => Promise<boolean>): Promise<boolean> {
  while (Date.now() < until) {
    if (await attempt()) return true;
    await sleep(PAUSE_MS);
  }
  return false;
}
