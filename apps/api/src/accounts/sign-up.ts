import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { createQuota } from '@stowage/shared/quota/create-quota.ts';
import { sql } from 'kysely';
import type { Throttles } from '../http/throttles.ts';
import type { Passwords } from './passwords.ts';
import { type NewAccount, parseSignUp, type SignUpInput } from './sign-up-input.ts';
import { USER_COLUMNS, type UserRecord, userRecord } from './user-record.ts';

export interface SignUpDeps {
  readonly db: Db;
  readonly passwords: Passwords;
  readonly throttles: Throttles;
  readonly signupVerification: 'optional' | 'required';
  readonly defaultMaxQuotaBytes: number;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
}

/** How long a sign-up's token is good for. */
const TOKEN_HOURS = 24;

/**
 * Makes a user and mails a token that verifies the address.
 *
 * When verification is required the answer never tells whether the address was known: every sign-up is kept, and
 * its mail goes to the owner of the address. Otherwise a known address is refused, with a new mail if it was never
 * verified: that mail's token verifies the account as it is, since the second sign-up was refused.
 *
 * @returns the user, or undefined when verification is required
 * @throws {AppError} INVALID_REQUEST naming fields, EMAIL_TAKEN, RATE_LIMITED, OVERLOADED
 */
export async function signUp(
  deps: SignUpDeps,
  input: SignUpInput,
  client: { ip: string; requestId: string },
): Promise<UserRecord | undefined> {
  const account = parseSignUp(input, deps.passwords);
  await deps.throttles.countSignUp(client.ip);
  const passwordHash = await deps.passwords.hash(account.password);
  const required = deps.signupVerification === 'required';

  let mailsAgain = false;
  const made = await deps.db.transaction().execute(async (trx) => {
    const user = await insertUser(trx, account, passwordHash);
    if (user !== undefined) {
      await createQuota(trx, user.id, deps.defaultMaxQuotaBytes);
      await insertSignUp(trx, user.id, account, passwordHash, client.requestId);
      return user;
    }
    const known = await trx
      .selectFrom('users')
      .select([...USER_COLUMNS, 'password_hash'])
      .where('email', '=', account.email)
      .executeTakeFirst();
    if (known === undefined) return undefined;
    if (required) await insertSignUp(trx, known.id, account, passwordHash, client.requestId);
    else if (known.email_verified_at === null && known.password_hash !== null) {
      await insertSignUp(trx, known.id, known, known.password_hash, client.requestId);
      mailsAgain = true;
    }
    return undefined;
  });
  deps.relayKick();

  if (required) return undefined;
  if (made === undefined) throw emailTaken(mailsAgain);
  return userRecord(made);
}

async function insertUser(trx: Db, account: NewAccount, passwordHash: string) {
  return trx
    .insertInto('users')
    .values({
      email: account.email,
      username: account.username,
      first_name: account.first_name,
      last_name: account.last_name,
      image: account.image,
      password_hash: passwordHash,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning(USER_COLUMNS)
    .executeTakeFirst();
}

async function insertSignUp(
  trx: Db,
  userId: string,
  profile: Pick<NewAccount, 'username' | 'first_name' | 'last_name' | 'image'>,
  passwordHash: string,
  requestId: string,
): Promise<void> {
  const { id } = await trx
    .insertInto('sign_ups')
    .values({
      user_id: userId,
      password_hash: passwordHash,
      username: profile.username,
      first_name: profile.first_name,
      last_name: profile.last_name,
      image: profile.image,
      expires_at: sql<Date>`now() + make_interval(hours => ${TOKEN_HOURS})`,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await insertJobs(trx, [
    { name: 'send-mail', payload: { v: 1, mail: 'verify-sign-up', signUpId: id }, requestId },
  ]);
}

function emailTaken(mailsAgain: boolean): AppError {
  const taken = 'There is an account with this address already.';
  const message = mailsAgain ? `${taken} A new mail to verify it is on its way.` : taken;
  return new AppError('EMAIL_TAKEN', message, {
    details: { errors: [{ field: 'email', code: 'EMAIL_TAKEN', message }] },
  });
}
