import type { Random } from '../random.ts';
import type { LoadUser } from './load-user.ts';

/** More without an answer could not be told apart at the end of the round. */
const MOST_UNSURE = 8;

/** Adds a few bytes to the user's quota. It has no key, so a lost reply stays open until everything is at rest. */
export async function increaseQuota(user: LoadUser, random: Random): Promise<void> {
  const { book } = user;
  if (book.unsureIncreases.length >= MOST_UNSURE) return;
  const bytes = random.int(1, 500);
  const outcome = await user.changeQuota('/quota/increase', { user_id: user.id, additional_bytes: bytes });
  user.tally.count('quota changes', `increase ${typeof outcome === 'object' ? 'acknowledged' : outcome}`);
  if (outcome === 'unsure') book.unsureIncreases.push(bytes);
  else if (outcome !== 'refused') book.adjustment += bytes;
}
