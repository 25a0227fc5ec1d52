import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import type { Logger } from 'pino';
import type { Db } from '../database/open-database.ts';
import { AppError } from '../errors/app-error.ts';
import type { JobMetrics, JobOutcome } from '../metrics/job-metrics.ts';
import { failJob } from '../outbox/fail-job.ts';
import type { Job, JobHandlers } from './job.ts';
import { jobErrorOutcome } from './job-error-outcome.ts';
import type { JobName } from './job-types.ts';
import { orAbandon } from './or-abandon.ts';
import { isJobName, parsePayload } from './parse-payload.ts';
import type { DeliveredJob } from './queue-backend.ts';

export interface DeliveryDeps {
  readonly db: Db;
  readonly logger: Logger;
  readonly metrics: JobMetrics;
  readonly handlers: JobHandlers;
  /** The deliveries that run, by job id. */
  readonly running: Map<string, AbortController>;
  readonly abandonAfterMs: number;
  readonly firstPauseMs: number;
}

const LONGEST_PAUSE_MS = 60_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Runs one delivery of a job and tells BullMQ how it ended, by the error that it throws.
 * A job is lost by nothing that happens here: its outbox row stays until its effect, or until it has failed for good.
 */
export async function processDelivery(
  deps: DeliveryDeps,
  delivered: DeliveredJob,
  token: string,
): Promise<void> {
  const startedAt = performance.now();
  const id = delivered.id ?? '';
  const requestId = delivered.data?.requestId ?? undefined;
  const attempt = delivered.attemptsMade + 1;
  const logger = deps.logger.child({ job: delivered.name, jobId: id, attempt, requestId });
  const controller = new AbortController();
  deps.running.set(id, controller);

  const end = (outcome: JobOutcome, error?: unknown) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    // A name from a malformed job must not become the name of a series.
    const name = isJobName(delivered.name) ? delivered.name : 'unknown';
    deps.metrics.finished(delivered.queueName, name, outcome, seconds);
    const facts = {
      outcome,
      durationMs: Math.round(seconds * 1_000),
      ...(error !== undefined && { err: error }),
    };
    if (outcome === 'failed') logger.error(facts, 'job failed for good');
    else if (outcome === 'retried') logger.warn(facts, 'job will be tried again');
    else logger.info(facts, 'job ended');
  };

  try {
    const run = prepare(deps, delivered, { id, attempt, requestId, logger, signal: controller.signal });
    if (!(await isWanted(deps.db, id))) {
      end('duplicate');
      return;
    }
    await orAbandon(run(), controller.signal, deps.abandonAfterMs);
    end('done');
  } catch (error) {
    const stop = await settle(deps, delivered, token, error, controller.signal);
    end(stop.outcome, error);
    throw stop.error;
  } finally {
    deps.running.delete(id);
  }
}

/** Binds the handler to the checked payload. Throws JOB_MALFORMED. */
function prepare(
  deps: DeliveryDeps,
  delivered: DeliveredJob,
  facts: Pick<Job, 'id' | 'attempt' | 'requestId' | 'logger' | 'signal'>,
): () => Promise<void> {
  const { name } = delivered;
  if (!isJobName(name) || deps.handlers[name] === undefined)
    throw new AppError('JOB_MALFORMED', `This worker knows no job ${JSON.stringify(name.slice(0, 100))}.`);
  if (!UUID.test(facts.id)) throw new AppError('JOB_MALFORMED', 'The job is not from the outbox.');
  return bind(deps.handlers, name, delivered, facts);
}

function bind<N extends JobName>(
  handlers: JobHandlers,
  name: N,
  delivered: DeliveredJob,
  facts: Pick<Job, 'id' | 'attempt' | 'requestId' | 'logger' | 'signal'>,
): () => Promise<void> {
  const job: Job<N> = {
    ...facts,
    name,
    payload: parsePayload(name, delivered.data?.payload),
    lastAttempt: facts.attempt >= (delivered.opts.attempts ?? 1),
  };
  return async () => handlers[name]?.(job);
}

/** A row that is gone was done, one that has failed is no longer to be tried: this delivery came late. */
async function isWanted(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('outbox').select('failed_at').where('id', '=', id).executeTakeFirst();
  return row !== undefined && row.failed_at === null;
}

/** Decides what becomes of a job that threw, and does what must be done before BullMQ is told by `error`. */
async function settle(
  deps: DeliveryDeps,
  delivered: DeliveredJob,
  token: string,
  error: unknown,
  signal: AbortSignal,
): Promise<{ outcome: JobOutcome; error: unknown }> {
  if (signal.aborted) {
    // Another worker has it: what this one thinks of the job no longer counts.
    if (!isShutdown(signal.reason)) return { outcome: 'retried', error };
    await delivered.moveToWait(token);
    return { outcome: 'handed-back', error: new WaitingError() };
  }
  const last = delivered.attemptsMade + 1 >= (delivered.opts.attempts ?? 1);
  const decided = jobErrorOutcome(error);
  if (decided === 'retry' && !last) return { outcome: 'retried', error };
  if (decided !== 'wait') {
    const reason = describe(error);
    const recorded = !UUID.test(delivered.id ?? '') || (await tryToRecord(deps, delivered.id ?? '', reason));
    if (recorded) return { outcome: 'failed', error: new UnrecoverableError(reason) };
  }
  // It costs no attempt: only what is wrong with the job itself may use those up.
  const pause = Math.min(deps.firstPauseMs * 2 ** Math.min(delivered.attemptsStarted, 16), LONGEST_PAUSE_MS);
  await delivered.moveToDelayed(Date.now() + pause, token);
  return { outcome: 'retried', error: new DelayedError() };
}

async function tryToRecord(deps: DeliveryDeps, id: string, reason: string): Promise<boolean> {
  try {
    await failJob(deps.db, id, reason);
    return true;
  } catch (error) {
    deps.logger.warn({ err: error, jobId: id }, 'the failure of a job could not be recorded');
    return false;
  }
}

function isShutdown(reason: unknown): boolean {
  return reason instanceof AppError && reason.code === 'SHUTTING_DOWN';
}

function describe(error: unknown): string {
  if (error instanceof AppError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
