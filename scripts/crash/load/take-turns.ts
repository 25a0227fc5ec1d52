import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { KeptFile } from '../users/oracle.ts';
import { deleteOne } from './delete-one.ts';
import type { LoadUser } from './load-user.ts';
import { uploadSome } from './upload-some.ts';

const PAUSE_MS = 300;
const SETTLE_PAUSE_MS = 500;

/**
 * A user who does one thing after the other: what `current_quota` must be is known to the byte after each answer,
 * not only when everything has come to rest. Deleted bytes are refunded later; until then it may be higher by them.
 */
export async function takeTurns(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  const refunded = new WeakSet<KeptFile>();
  while (!stop.aborted) {
    const what = random.next();
    if (what < 0.5 && user.book.storedBytes < user.maxBytes / 2) await uploadSome(user, random, stop);
    else if (what < 0.75) await deleteOne(user, random, stop);
    else await setQuota(user, random, stop);
    await settle(user, stop);
    await compare(user, refunded, stop);
    await sleep(random.int(0, PAUSE_MS));
  }
}

/** `POST /quota/set`, which a lost reply lets repeat: the second time it changes nothing. */
async function setQuota(user: LoadUser, random: Random, stop: AbortSignal): Promise<void> {
  const { book } = user;
  // Below what is stored, a later refund would have to write something off: that is tested elsewhere.
  const target = book.storedBytes + random.int(0, Math.floor(user.maxBytes / 4));
  if (!(await isAtRest(user))) return;
  for (;;) {
    const outcome = await user.changeQuota('/quota/set', { user_id: user.id, new_quota_bytes: target });
    user.tally.count('quota changes', `set ${typeof outcome === 'object' ? 'acknowledged' : outcome}`);
    if (outcome === 'refused') return;
    if (outcome !== 'unsure') {
      if (outcome.current_quota !== target)
        user.tally.violation(`${user.name}: set to ${target} gave ${outcome.current_quota}`);
      book.adjustment = target - book.storedBytes;
      return;
    }
    // The answer decides what all later ones must be; at the end of the round `settle` gets it.
    await sleep(SETTLE_PAUSE_MS);
    if (stop.aborted) {
      book.unsureSet = target;
      return;
    }
  }
}

/** Whether all deleted bytes are refunded: only then does `set` have a result that is known. */
async function isAtRest(user: LoadUser): Promise<boolean> {
  return (await user.readQuota())?.current_quota === user.book.expectedQuota;
}

async function settle(user: LoadUser, stop: AbortSignal): Promise<void> {
  while (!stop.aborted && (user.book.unsettled.size > 0 || user.book.unsure.length > 0)) {
    for (const attempt of user.book.unsettled) await user.tryUpload(attempt);
    for (const file of user.book.unsure) await user.tryDelete(file);
    await sleep(SETTLE_PAUSE_MS);
  }
}

async function compare(user: LoadUser, refunded: WeakSet<KeptFile>, stop: AbortSignal): Promise<void> {
  const { book } = user;
  const record = await user.readQuota();
  if (record === undefined || stop.aborted || book.unsettled.size > 0 || book.unsure.length > 0) return;
  const deleted = [...book.files.values()].filter((file) => file.state === 'deleted' && !refunded.has(file));
  const notRefunded = deleted.reduce((sum, file) => sum + file.sizeBytes, 0);
  const surplus = record.current_quota - book.expectedQuota;
  if (surplus < 0 || surplus > notRefunded)
    user.tally.violation(
      `${user.name}: current_quota is ${record.current_quota} right after an answer, not ${book.expectedQuota}`,
    );
  else user.tally.count('quota changes', 'current_quota compared right after an answer');
  if (surplus === 0) for (const file of deleted) refunded.add(file);
}
