import type { Metrics } from '@stowage/shared/metrics/create-metrics.ts';
import { type JobTimings, type JobWorker, openJobWorker } from '@stowage/shared/queues/open-job-worker.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import type { Logger } from 'pino';
import { type SendMailDeps, sendMail } from './send-mail.ts';

export interface MailWorkerOptions extends SendMailDeps, JobTimings {
  readonly backend: QueueBackend;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'jobs'>;
  /** Mails that are sent at once. */
  readonly concurrency: number;
}

/** Works on the queue `mail`. */
export function openMailWorker(options: MailWorkerOptions): JobWorker {
  const { db, mailer, secretKey, publicUrl, verifyUrl, ...rest } = options;
  return openJobWorker({
    ...rest,
    db,
    queue: 'mail',
    handlers: {
      'send-mail': async (job) => {
        const outcome = await sendMail({ db, mailer, secretKey, publicUrl, verifyUrl }, job);
        job.logger.debug({ outcome }, 'mail handled');
      },
    },
  });
}
