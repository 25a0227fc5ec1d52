import type { Db } from '@stowage/shared/database/open-database.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { isSignUpTokenOf, signUpIdOf } from '@stowage/shared/secrets/sign-up-token.ts';
import { sql } from 'kysely';
import { revokeSessions } from './revoke-sessions.ts';

export interface VerifySignUpDeps {
  readonly db: Db;
  readonly secretKey: string;
}

/**
 * Redeems a mailed token: the address is verified, and the password and names of that very sign-up count. All other
 * tokens of the user are worthless from then on.
 * @throws {AppError} INVALID_VERIFICATION_TOKEN when it is wrong, used or expired
 */
export async function verifySignUp({ db, secretKey }: VerifySignUpDeps, token: string): Promise<void> {
  const id = signUpIdOf(token);
  if (id === undefined) throw invalidToken();
  await db.transaction().execute(async (trx) => {
    const row = await trx
      .selectFrom('sign_ups')
      .innerJoin('users', 'users.id', 'sign_ups.user_id')
      .selectAll('sign_ups')
      .select('users.password_hash as current_hash')
      .where('sign_ups.id', '=', id)
      .where('sign_ups.redeemed_at', 'is', null)
      .where('sign_ups.expires_at', '>', sql<Date>`now()`)
      .where('users.email_verified_at', 'is', null)
      .where('users.state', '=', 'active')
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined || !isSignUpTokenOf(secretKey, row, token)) throw invalidToken();

    await trx
      .updateTable('users')
      .set({
        email_verified_at: sql<Date>`now()`,
        password_hash: row.password_hash,
        username: row.username,
        first_name: row.first_name,
        last_name: row.last_name,
        image: row.image,
      })
      .where('id', '=', row.user_id)
      .execute();
    await trx.updateTable('sign_ups').set({ redeemed_at: sql<Date>`now()` }).where('id', '=', id).execute();
    // Whoever knew the earlier password only may be somebody else.
    if (row.password_hash !== row.current_hash) await revokeSessions(trx, row.user_id);
  });
}

function invalidToken(): AppError {
  return new AppError('INVALID_VERIFICATION_TOKEN', 'The token is wrong, was used before, or has expired.', {
    details: {
      errors: [
        {
          field: 'token',
          code: 'INVALID_VERIFICATION_TOKEN',
          message:
            'Wrong, used or expired. Unless the address is verified already, sign up again to get a new one.',
        },
      ],
    },
  });
}
