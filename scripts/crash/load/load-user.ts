import type { Random } from '../random.ts';
import { User, type UserDeps } from '../users/user.ts';

/** A user as the load drives it. */
export class LoadUser extends User {
  readonly maxBytes: number;
  /** One request after the other, so that each answer can be predicted to the byte. */
  readonly takesTurns: boolean;

  constructor(deps: UserDeps & { readonly maxBytes: number; readonly takesTurns: boolean }) {
    super(deps);
    this.maxBytes = deps.maxBytes;
    this.takesTurns = deps.takesTurns;
  }

  newKey(random: Random): string {
    return `${this.name}-${random.int(0, 2 ** 32 - 1)}-${random.int(0, 2 ** 32 - 1)}`;
  }
}
