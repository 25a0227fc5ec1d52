import type { RoundKind } from '../options.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';

/** One kind of trouble, which ends by itself. */
export interface Fault {
  readonly kind: Exclude<RoundKind, 'mixed' | 'points'>;
  /** Its row in the table of counts. */
  readonly label: string;
  /** At most, when it is long. */
  readonly lastsMs?: number;
  /** Returns false when there was nothing to do it to just now. */
  run(world: World, random: Random): Promise<boolean>;
}
