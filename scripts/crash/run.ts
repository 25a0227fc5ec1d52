import { join } from 'node:path';
import { runAuditCommand } from './checks/audit-command.ts';
import { startSampler } from './checks/sampler.ts';
import { verify } from './checks/verify.ts';
import { makeTrouble } from './faults/trouble.ts';
import { startLoad } from './load/load.ts';
import { Visitors } from './load/visitors.ts';
import type { CrashOptions, RoundKind } from './options.ts';
import { runPoints } from './points/run-points.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';
import { openUsers, type Users } from './users/open-users.ts';
import type { World } from './world.ts';

/** How long a round makes trouble, ms. The checks after it take their own time. */
const ROUND_MS = { short: 45_000, long: 60_000 };

interface Run {
  readonly options: CrashOptions;
  readonly world: World;
  readonly users: Users;
  readonly visitors: Visitors;
  readonly random: Random;
  readonly tally: Tally;
  readonly signal: AbortSignal;
}

/** Round after round, until the time is over: each kind of trouble on its own, then mixed ones. */
export async function runRounds(given: Omit<Run, 'users' | 'visitors'>): Promise<void> {
  const { options, world, random, tally, signal } = given;
  const users = await openUsers({
    baseUrls: world.fleet.baseUrls,
    isBlind: world.isBlind,
    random: random.fork('users'),
    tally,
  });
  const sampler = await startSampler(world);
  const until = Date.now() + options.minutes * 60_000;
  const visitors = new Visitors(world.fleet.baseUrls, tally);
  const run = { ...given, users, visitors };
  try {
    for (let number = 0; ; number += 1) {
      const kind = options.kinds[number] ?? options.kinds.at(-1);
      if (kind === undefined || signal.aborted) return;
      await round(run, kind, number + 1);
      const allPlayed = number + 1 >= options.kinds.length;
      if (allPlayed && (options.short || Date.now() > until)) break;
    }
    await runAuditCommand(world);
  } finally {
    await sampler.stop();
  }
}

async function round(run: Run, kind: RoundKind, number: number): Promise<void> {
  const { options, world, users, visitors, tally, signal } = run;
  const random = run.random.fork(`round ${number}`);
  tally.beginRound(`${number} (${kind})`);
  tally.say(`round ${number}: ${kind}`);
  if (kind === 'points') {
    await runPoints({ world, user: users.points, random });
  } else {
    const load = startLoad(users.load, visitors, random.fork('load'));
    const lastsMs = options.short ? ROUND_MS.short : ROUND_MS.long;
    await makeTrouble({ world, kind, lastsMs, signal, random: random.fork('trouble') });
    await world.heal();
    await load.stop();
  }
  await world.heal();
  tally.count('rounds', kind);
  tally.say(`round ${number}: all faults off`);
  await verify(world, users.all);
  await visitors.check(join(world.folder, 'data'));
}
