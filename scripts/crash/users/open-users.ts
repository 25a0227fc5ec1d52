import { ADMIN } from '../fleet/environment.ts';
import { LoadUser } from '../load/load-user.ts';
import type { Random } from '../random.ts';
import type { Tally } from '../tally.ts';
import { Account } from './account.ts';
import { Contents } from './contents.ts';
import { UserBook } from './oracle.ts';

const MIB = 1024 * 1024;

/** Limits that a handful of large files reaches. */
const USERS = [
  { name: 'anna', maxBytes: 24 * MIB },
  { name: 'bela', maxBytes: 33 * MIB },
  { name: 'cleo', maxBytes: 48 * MIB },
  { name: 'dora', maxBytes: 21 * MIB },
  { name: 'turn', maxBytes: 40 * MIB, takesTurns: true },
  { name: 'points', maxBytes: 40 * MIB, forPoints: true },
] as const;

export interface Users {
  /** Those who make the load. */
  readonly load: readonly LoadUser[];
  /** The one who walks into the named points. */
  readonly points: LoadUser;
  readonly all: readonly LoadUser[];
}

/** Signs everybody up, and has the administrator set their limits. */
export async function openUsers(options: {
  readonly baseUrls: readonly string[];
  readonly isBlind: (baseUrl: string) => boolean;
  readonly random: Random;
  readonly tally: Tally;
}): Promise<Users> {
  const { baseUrls, isBlind, tally } = options;
  const contents = await Contents.make();
  const open = async (name: string, account: Account, maxBytes: number, takesTurns: boolean) => {
    await account.authorization();
    const book = new UserBook(account.id);
    const random = options.random.fork(name);
    return new LoadUser({
      name,
      account,
      book,
      contents,
      baseUrls,
      isBlind,
      random,
      tally,
      maxBytes,
      takesTurns,
    });
  };
  const admin = await open('admin', new Account(baseUrls, ADMIN.email, ADMIN.password), 0, false);
  const all: LoadUser[] = [];
  for (const { name, maxBytes, ...rest } of USERS) {
    const account = new Account(baseUrls, `${name}@example.com`, `the password of ${name}`);
    await account.signUp();
    const user = await open(name, account, maxBytes, 'takesTurns' in rest);
    const limited = await admin.changeQuota('/quota/limit', { user_id: user.id, max_quota_bytes: maxBytes });
    if (typeof limited !== 'object') throw new Error(`The limit of ${name} could not be set.`);
    all.push(user);
  }
  const points = all.at(-1);
  if (points === undefined) throw new Error('There are no users.');
  return { load: all.slice(0, -1), points, all };
}
