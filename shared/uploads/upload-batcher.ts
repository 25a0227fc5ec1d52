import type { Db } from '../database/open-database.ts';
import { type BeginOutcome, beginUploads, type UploadIntent } from './begin-upload.ts';
import { type FinishedUpload, type FinishOutcome, finishUploads } from './finish-upload.ts';
import { joinWaiting } from './join-waiting.ts';

export interface UploadBatcherOptions {
  readonly db: Db;
  readonly leaseMs: number;
  readonly postingDelayMs: number;
}

export interface BeginRequest {
  readonly userId: string;
  readonly sessionId: string;
  readonly intent: UploadIntent;
}

export interface FinishRequest {
  readonly userId: string;
  readonly upload: FinishedUpload;
}

export type OneFinishOutcome = 'finished' | 'lease-lost' | 'no-room';

/**
 * Begins and finishes uploads with at most one statement of each kind per user in flight; uploads that wait join
 * the next one. Without it, parallel uploads of one user queue up at the lock of their quota row.
 */
export interface UploadBatcher {
  begin(request: BeginRequest): Promise<BeginOutcome>;
  /** An error says nothing about whether it was committed. */
  finish(request: FinishRequest): Promise<OneFinishOutcome>;
}

export function createUploadBatcher({ db, leaseMs, postingDelayMs }: UploadBatcherOptions): UploadBatcher {
  const begin = joinWaiting<BeginRequest, BeginOutcome>(async (requests) => {
    const [{ userId, sessionId }] = nonEmpty(requests);
    const together = (some: readonly BeginRequest[]) =>
      beginUploads(db, { userId, sessionId, intents: some.map((request) => request.intent), leaseMs });
    // The same key twice in one statement would be refused by the unique index, not answered.
    const outcome = await together(requests);
    if (outcome.kind === 'begun' || outcome.kind === 'no-session' || requests.length === 1)
      return requests.map(() => outcome);
    return await oneByOne(requests, together);
  });

  const finish = joinWaiting<FinishRequest, OneFinishOutcome>(async (requests) => {
    const [{ userId }] = nonEmpty(requests);
    const together = (some: readonly FinishRequest[]) =>
      finishUploads(db, { userId, uploads: some.map((request) => request.upload), postingDelayMs });
    const outcome = await together(requests);
    if (outcome.kind === 'settled' || requests.length === 1)
      return requests.map((request) => outcomeOf(request, outcome));
    return await oneByOne(requests, async (some) => outcomeOf(nonEmpty(some)[0], await together(some)));
  });

  return {
    begin: (request) => begin(`${request.userId}/${request.sessionId}`, request),
    finish: (request) => finish(request.userId, request),
  };
}

function outcomeOf({ upload }: FinishRequest, outcome: FinishOutcome): OneFinishOutcome {
  if (outcome.kind === 'no-room') return 'no-room';
  return outcome.ids.includes(upload.id) ? 'finished' : 'lease-lost';
}

async function oneByOne<T, R>(items: readonly T[], run: (one: readonly T[]) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await run([item]));
  return results;
}

function nonEmpty<T>(items: readonly T[]): readonly [T, ...T[]] {
  const [first, ...rest] = items;
  if (first === undefined) throw new Error('There is nothing to do.');
  return [first, ...rest];
}
