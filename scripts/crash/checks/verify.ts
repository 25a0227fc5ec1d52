import { setTimeout as sleep } from 'node:timers/promises';
import { INVARIANTS } from '@stowage/shared/audit/findings.ts';
import { runAudit } from '@stowage/shared/audit/run-audit.ts';
import { THUMBNAIL_WIDTHS } from '../fleet/environment.ts';
import type { LoadUser } from '../load/load-user.ts';
import { AUDIT_AT_REST, RECOVERY_MS } from '../timings.ts';
import type { World } from '../world.ts';
import { readBack } from './read-back.ts';
import { untilAtRest } from './rest.ts';
import { checkAboveLimit } from './sampler.ts';
import { settle, settleSet, untilNoUploadRuns } from './settle.ts';
import { checkUnfinished } from './unfinished.ts';

/** After a round, with all faults off: everything is right, within two minutes. */
export async function verify(world: World, users: readonly LoadUser[]): Promise<void> {
  const { tally } = world;
  const startedAt = Date.now();
  const until = startedAt + RECOVERY_MS;
  try {
    await world.fleet.ready();
  } catch (error) {
    tally.violation(`a process does not recover: ${error}`);
    return;
  }
  if (!(await untilNoUploadRuns(world, until))) tally.violation('an upload still runs with nobody sending');
  for (const user of users) await settle(user, until);
  await expectRest(world, until);
  for (const user of users) await settleSet(user, until);
  await expectRest(world, until);
  await expectCleanAudit(world, until);
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  tally.say(`at rest, and the audit is clean or reported, ${seconds} s after the last fault`);
  for (const user of users) await expectQuota(user);
  for (const user of users) await readBack(user);
  await checkAboveLimit(world);
  await checkUnfinished(world);
}

async function expectRest(world: World, until: number): Promise<void> {
  const open = await untilAtRest(world, until);
  if (open.length > 0)
    world.tally.violation(`not at rest after ${RECOVERY_MS / 1_000} s: ${open.join(', ')}`);
}

async function expectCleanAudit(world: World, until: number): Promise<void> {
  let faults: string[] = [];
  do {
    faults = await audit(world).catch((error: unknown) => [`the audit failed: ${error}`]);
    if (faults.length === 0) return;
    await sleep(1_000);
  } while (Date.now() < until);
  for (const fault of faults) world.tally.violation(`audit: ${fault}`);
}

async function audit({ db, store, backend, tally }: World): Promise<string[]> {
  const { findings } = await runAudit({
    db,
    store,
    backend,
    thumbnailWidths: THUMBNAIL_WIDTHS,
    deep: true,
    windows: AUDIT_AT_REST,
  });
  tally.count('checks', 'audits');
  return INVARIANTS.flatMap((invariant) => {
    const { violations, examples } = findings[invariant];
    return violations === 0 ? [] : [`${invariant}: ${violations} violations, such as ${examples.join('; ')}`];
  });
}

async function expectQuota(user: LoadUser): Promise<void> {
  const { book, tally } = user;
  const record = await user.readQuota();
  if (record === undefined) {
    tally.violation(`${user.name}: /quota gives no answer with all faults off`);
    return;
  }
  if (!book.settleIncreases(record.current_quota))
    tally.violation(`${user.name}: current_quota is ${record.current_quota}, not ${book.expectedQuota}`);
  else tally.count('checks', 'quotas equal to the oracle’s sum');
}
