import type { Db } from '@stowage/shared/database/open-database.ts';
import { createQuota } from '@stowage/shared/quota/create-quota.ts';
import { sql } from 'kysely';
import { normaliseEmail } from './email-address.ts';
import { invalidInput } from './field-errors.ts';
import type { Passwords } from './passwords.ts';
import { revokeSessions } from './revoke-sessions.ts';

export interface EnsureAdministratorDeps {
  readonly db: Db;
  readonly passwords: Passwords;
  readonly defaultMaxQuotaBytes: number;
}

export type AdministratorOutcome = 'created' | 'promoted' | 'unchanged';

/**
 * Makes sure that there is an administrator with this address and this password. An account that had the address
 * before is promoted: it gets the password, its address counts as verified, and its sessions end, since whoever made
 * it need not be the operator. An administrator whose password is this one already is left alone.
 * @throws {AppError} INVALID_REQUEST when the address or the password could not sign up
 */
export async function ensureAdministrator(
  { db, passwords, defaultMaxQuotaBytes }: EnsureAdministratorDeps,
  credentials: { email: string; password: string },
): Promise<AdministratorOutcome> {
  const email = normaliseEmail(credentials.email);
  if (email === undefined)
    throw invalidInput([
      { field: 'email', code: 'EMAIL_INVALID', message: "The administrator's address is not valid." },
    ]);
  const fault = passwords.fault(credentials.password);
  if (fault !== undefined) throw invalidInput([fault]);

  return db.transaction().execute(async (trx) => {
    // Several API processes start at the same time.
    await sql`SELECT pg_advisory_xact_lock(hashtextextended('stowage/administrator', 0))`.execute(trx);
    const known = await trx
      .selectFrom('users')
      .select(['id', 'role', 'password_hash', 'state', 'email_verified_at'])
      .where('email', '=', email)
      .forUpdate()
      .executeTakeFirst();
    const same =
      known?.role === 'admin' &&
      known.state === 'active' &&
      known.email_verified_at !== null &&
      (await passwords.matches(credentials.password, known.password_hash));
    if (same) return 'unchanged';

    const rights = {
      role: 'admin' as const,
      password_hash: await passwords.hash(credentials.password),
      email_verified_at: sql<Date>`now()`,
    };
    if (known === undefined) {
      const username = email.slice(0, email.lastIndexOf('@'));
      const { id } = await trx
        .insertInto('users')
        .values({ email, username, ...rights })
        .returning('id')
        .executeTakeFirstOrThrow();
      await createQuota(trx, id, defaultMaxQuotaBytes);
      return 'created';
    }
    await trx
      .updateTable('users')
      .set({ ...rights, state: 'active' })
      .where('id', '=', known.id)
      .execute();
    await revokeSessions(trx, known.id);
    return 'promoted';
  });
}
