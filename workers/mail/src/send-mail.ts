import type { Db } from '@stowage/shared/database/open-database.ts';
import { completeJob } from '@stowage/shared/outbox/complete-job.ts';
import type { Job } from '@stowage/shared/queues/job.ts';
import { signUpToken } from '@stowage/shared/secrets/sign-up-token.ts';
import { composeKnownAddressMail, composeVerifyMail } from './compose-sign-up-mail.ts';
import type { Mailer } from './mailer.ts';

export interface SendMailDeps {
  readonly db: Db;
  readonly mailer: Mailer;
  readonly secretKey: string;
  readonly publicUrl: string;
  readonly verifyUrl: string | undefined;
}

export type SendMailJob = Pick<Job<'send-mail'>, 'id' | 'payload'>;

/**
 * Sends the mail of a sign-up, or none when it has become pointless. The token is derived here and nowhere kept.
 * The mail goes out before the job's row goes, so after a crash in between it goes out twice, as the same message.
 */
export async function sendMail(deps: SendMailDeps, job: SendMailJob): Promise<'sent' | 'pointless'> {
  const { db } = deps;
  const row = await db
    .selectFrom('sign_ups')
    .innerJoin('users', 'users.id', 'sign_ups.user_id')
    .select([
      'sign_ups.id',
      'sign_ups.user_id',
      'sign_ups.expires_at',
      'sign_ups.redeemed_at',
      'users.email',
      'users.email_verified_at',
    ])
    .where('sign_ups.id', '=', job.payload.signUpId)
    .executeTakeFirst();
  const wanted = row !== undefined && row.redeemed_at === null && row.expires_at.getTime() > Date.now();
  if (wanted && row.email !== null) {
    const text =
      row.email_verified_at === null
        ? composeVerifyMail({
            token: signUpToken(deps.secretKey, row),
            graphqlUrl: `${deps.publicUrl}/graphql`,
            verifyUrl: deps.verifyUrl,
          })
        : composeKnownAddressMail();
    await deps.mailer.send({ ...text, id: job.id, to: row.email });
  }
  await completeJob(db, job.id);
  return wanted ? 'sent' : 'pointless';
}
