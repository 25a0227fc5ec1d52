import { DEATHS } from './deaths.ts';
import { DELETED_MEANWHILE } from './deleted-meanwhile.ts';
import { LATE_PUT } from './late-put.ts';
import { LOST_CONNECTION } from './lost-connection.ts';
import type { PointDeps, Scenario } from './scenario.ts';

/** One that is missed is tried again. */
const TRIES = 2;

/**
 * Hits each named moment once, with nothing else going on, so that it is certain which request ran into it. The one
 * that takes longest is begun first, and goes on behind the others; those come in an order by the seed.
 */
export async function runPoints(deps: PointDeps): Promise<void> {
  const others = deps.random.shuffled([...DEATHS, LOST_CONNECTION, DELETED_MEANWHILE]);
  const late: Promise<void>[] = [];
  for (const scenario of [LATE_PUT, ...others]) {
    const outcome = await runUntilHit(deps, scenario);
    if (typeof outcome === 'boolean') tell(deps, scenario, outcome);
    else late.push(outcome.later.then((hit) => tell(deps, scenario, hit)));
  }
  await Promise.all(late);
}

async function runUntilHit(deps: PointDeps, scenario: Scenario) {
  for (let tries = 1; ; tries += 1) {
    const outcome = await scenario.run(deps);
    if (outcome !== false || tries === TRIES) return outcome;
    await deps.world.fleet.ready();
  }
}

function tell({ world: { tally } }: PointDeps, { label }: Scenario, hit: boolean): void {
  tally.count('named points', label, hit ? 1 : 0);
  if (hit) tally.say(`hit: ${label}`);
  else tally.violation(`this point was not hit: ${label}`);
}
