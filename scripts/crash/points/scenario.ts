import type { LoadUser } from '../load/load-user.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';

export interface PointDeps {
  readonly world: World;
  readonly user: LoadUser;
  readonly random: Random;
}

/** One of the moments that must be hit on purpose. */
export interface Scenario {
  /** Its row in the table, in the words of the requirement. */
  readonly label: string;
  /** Resolves to whether the moment was hit; or to something that will tell, while others have their turn. */
  run(deps: PointDeps): Promise<boolean | { readonly later: Promise<boolean> }>;
}
