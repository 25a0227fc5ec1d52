import { ConfigError, readSettings, type Settings } from '@stowage/shared/config/config.ts';
import { type Db, openDatabase } from '@stowage/shared/database/open-database.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import { withDeadline } from '@stowage/shared/queues/with-deadline.ts';
import { type Arguments, parseArguments, USAGE, UsageError } from './requeue/arguments.ts';
import { readFailures } from './requeue/failed-jobs.ts';
import { operatedDatabaseUrl } from './requeue/operated-database.ts';
import { removeFromQueues } from './requeue/remove-from-queues.ts';
import { type Requeued, requeueFailed } from './requeue/requeue-failed.ts';

const MOST_LISTED = 50;
const QUEUE_DEADLINE_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 5 * 60_000;

const EXIT_FAILED = 1;
const EXIT_USAGE = 64;
const EXIT_BAD_CONFIGURATION = 78;

async function main(): Promise<void> {
  const args = parseArguments(process.argv.slice(2));
  if (args.help) return console.log(USAGE);
  const settings = readSettings(process.env);
  const url = await operatedDatabaseUrl(settings);
  if (url === undefined)
    throw new ConfigError([
      `DATABASE_URL is missing, and no Stowage runs on the data folder ${settings.dataDir} (DATA_DIR)`,
    ]);
  const db = openDatabase({
    url,
    poolSize: 1,
    applicationName: 'stowage-requeue',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: () => undefined,
  });
  try {
    if (args.failed) await requeue(db, args, settings, url);
    else await list(db, args);
  } finally {
    await db.destroy();
  }
}

async function list(db: Db, { queue }: Arguments): Promise<void> {
  const { jobs, jobCount, pictureCount } = await readFailures(db, queue, MOST_LISTED);
  for (const job of jobs)
    console.log(
      `${job.failedAt.toISOString()}  ${job.queue}  ${job.name}  ${job.id}  ${oneLine(job.failure)}`,
    );
  if (jobCount > jobs.length) console.log(`… and ${jobCount - jobs.length} older ones`);
  if (jobCount + pictureCount === 0) return console.log('Nothing has failed for good.');
  console.log(
    `Failed for good: ${count(jobCount, 'job')}; given up: thumbnails of ${count(pictureCount, 'picture')}.`,
  );
  console.log('Try them again with: npm run requeue -- --failed');
}

async function requeue(db: Db, { queue }: Arguments, settings: Settings, url: string): Promise<void> {
  const done = await requeueFailed(db, queue);
  console.log(
    `Requeued ${count(done.replaced.length, 'failed job')} and the thumbnails of ${count(done.pictures, 'picture')}.`,
  );
  await tidyQueues(done, settings, url).catch((error: unknown) =>
    console.log(`The dashboard shows the old ones until they expire: ${describe(error)}`),
  );
}

async function tidyQueues({ replaced }: Requeued, settings: Settings, databaseUrl: string): Promise<void> {
  if (replaced.length === 0) return;
  const onRedis = settings.redisUrl !== undefined && settings.queue !== 'postgres';
  const backend = openQueueBackend(
    onRedis && settings.redisUrl !== undefined
      ? { kind: 'redis', url: settings.redisUrl }
      : { kind: 'postgres', databaseUrl },
    createLogger({ name: 'requeue', level: 'silent' }),
  );
  try {
    await withDeadline(removeFromQueues(backend, replaced), AbortSignal.timeout(QUEUE_DEADLINE_MS));
  } finally {
    await backend.close();
  }
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  await main();
} catch (error) {
  console.error(describe(error));
  if (error instanceof UsageError) console.error(`\n${USAGE}`);
  process.exitCode =
    error instanceof UsageError
      ? EXIT_USAGE
      : error instanceof ConfigError
        ? EXIT_BAD_CONFIGURATION
        : EXIT_FAILED;
}
