import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Places where the crash suite interferes: in the order in which an upload and its deletion come by. */
export const FAULT_POINTS = [
  /** All objects of an upload are durable, *finish* is not sent. */
  'upload.written',
  /** *Finish* is committed, the reply is not sent. */
  'upload.finished',
  /** Outbox rows are taken, and not in their queue. */
  'relay.claimed',
  /** They are in their queue, and not marked as published. */
  'relay.published',
  /** At least one variant is durable; others may not be. */
  'render.variant-written',
  /** All variants are durable, and have no rows. */
  'render.written',
  /** The original of a deleted file is gone, and not refunded. */
  'deletion.original-removed',
  /** It is refunded, and the variants are still there. */
  'deletion.refunded',
  /** Entries are in the ledger, in a transaction that is still open. */
  'posting.before-commit',
  /** That transaction is committed, and the job does not know. */
  'posting.committed',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

const WAIT_POLL_MS = 20;

/** Where orders are; undefined in every process that is not under test. */
let orders: string | undefined;

/** Obeys orders in this folder from now on. Called at the start of a process, by `armFaults` only. */
export function obeyFaultsIn(folder: string): void {
  orders = folder;
}

/** Does what a test has ordered for this place. Nothing, at once, in a process that is not under test. */
export function faultPoint(point: FaultPoint): Promise<void> | undefined {
  return orders === undefined ? undefined : obey(orders, point);
}

async function obey(folder: string, point: FaultPoint): Promise<void> {
  const order = take(folder, point);
  if (order === undefined) return;
  const [action, path = ''] = order.split(' ');
  if (action === 'throw') throw new Error(`A test ordered a failure at ${point}.`);
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  // A process that was killed gets no further than here either.
  while (action !== 'wait' || !existsSync(path)) await sleep(WAIT_POLL_MS);
}

/** An order is for one process: the one that succeeds in renaming it. */
function take(folder: string, point: FaultPoint): string | undefined {
  const taken = join(folder, `${point}.${process.pid}.${performance.now()}.taken`);
  try {
    renameSync(join(folder, point), taken);
  } catch {
    return undefined;
  }
  return readFileSync(taken, 'utf8').trim();
}
