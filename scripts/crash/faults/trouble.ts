import { setTimeout as sleep } from 'node:timers/promises';
import type { RoundKind } from '../options.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';
import { ENDS } from './ends.ts';
import type { Fault } from './fault.ts';
import { NETWORK } from './network.ts';
import { DISK, FLUSH, PAUSES, S3 } from './others.ts';
import { POINTS } from './points.ts';

const ALL: readonly Fault[] = [...ENDS, ...POINTS, ...FLUSH, ...NETWORK, ...S3, ...DISK, ...PAUSES];

/** Between two faults of one hand, ms. */
const GAP_MS = 1_500;
/** Faults at the same time: one after another in a round of one kind, several when they are mixed. */
const HANDS_WHEN_MIXED = 3;

export interface Trouble {
  readonly world: World;
  readonly random: Random;
  readonly kind: Exclude<RoundKind, 'points'>;
  readonly lastsMs: number;
  readonly signal: AbortSignal;
}

/** Makes trouble of one kind, or of all mixed, at random moments: every fault once before one comes again. */
export async function makeTrouble({ world, random, kind, lastsMs, signal }: Trouble): Promise<void> {
  const faults = ALL.filter((fault) => kind === 'mixed' || fault.kind === kind);
  const until = Date.now() + lastsMs;
  let deck: Fault[] = [];
  const hands = kind === 'mixed' || kind === 'pause' ? HANDS_WHEN_MIXED : 1;
  const play = async (hand: number) => {
    const own = random.fork(hand);
    while (Date.now() < until && !signal.aborted) {
      if (deck.length === 0) deck = dealt(random, faults);
      const fault = deck.pop();
      if (fault === undefined) return;
      if (Date.now() + (fault.lastsMs ?? 0) > until) continue;
      if (await fault.run(world, own)) world.tally.count('faults', fault.label);
      await sleep(own.int(0, GAP_MS));
    }
  };
  await Promise.all(Array.from({ length: hands }, (_, hand) => play(hand)));
}

/** In any order, but long ones first: later there may be no time for them. */
function dealt(random: Random, faults: readonly Fault[]): Fault[] {
  return random.shuffled(faults).toSorted((a, b) => (a.lastsMs ?? 0) - (b.lastsMs ?? 0));
}
