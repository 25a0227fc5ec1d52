import { join } from 'node:path';
import { openWorkerServices } from '@stowage/shared/process/open-worker-services.ts';
import { runProcess } from '@stowage/shared/process/run-process.ts';
import { createMailer } from './mailer.ts';
import { openMailWorker } from './worker.ts';

const NAME = 'worker-mail';

await runProcess(NAME, async (process) => {
  const { config, onClose } = process;
  const services = await openWorkerServices(process, NAME);

  const from = config.mailFrom;
  const mailer = createMailer(
    config.smtpUrl === undefined
      ? { kind: 'folder', folder: join(config.dataDir, 'mail'), from }
      : { kind: 'smtp', url: config.smtpUrl, from },
  );
  onClose('mailer', async () => mailer.close());

  const worker = openMailWorker({
    ...services,
    mailer,
    secretKey: config.secretKey,
    publicUrl: config.publicUrl,
    verifyUrl: config.verifyUrl,
    concurrency: config.mailConcurrency,
  });
  onClose('worker', () => worker.close());
});
