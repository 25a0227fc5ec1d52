import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { CryptoKey, JWK } from 'jose';
import { createKeyStore, type KeyStoreDeps, type StoredKey } from './signing-key-store.ts';

/** Milliseconds, all of them. */
export interface SigningKeyTimings {
  /** How long a key signs. */
  readonly signsFor: number;
  /** How long before it signs a key is published. */
  readonly publishAhead: number;
  /** How long a key that signs no more stays published: longer than any token it signed lives. */
  readonly keepAfter: number;
  /** Least time between two reloads from the database. */
  readonly reloadInterval: number;
}

const HOUR = 3_600_000;
const TIMINGS: SigningKeyTimings = {
  signsFor: 30 * 24 * HOUR,
  publishAhead: 24 * HOUR,
  keepAfter: HOUR,
  reloadInterval: 1_000,
};

export interface SigningKeys {
  /** The key that signs now. Makes the first key, and the next one when this one's time is running out. */
  current(): Promise<{ kid: string; key: CryptoKey }>;
  /** The public key of that id. An unknown id reloads the keys once; undefined when it stays unknown. */
  find(kid: string): Promise<CryptoKey | undefined>;
  /** All published public keys. */
  published(): Promise<JWK[]>;
}

export interface SigningKeysDeps extends KeyStoreDeps {
  readonly timings?: Partial<SigningKeyTimings>;
  readonly now?: () => number;
}

/** The keys that sign access tokens, kept in memory and refreshed from the database. */
export function createSigningKeys(deps: SigningKeysDeps): SigningKeys {
  const timings = { ...TIMINGS, ...deps.timings };
  const now = deps.now ?? Date.now;
  const store = createKeyStore(deps);
  let keys: readonly StoredKey[] = [];
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  let rotating: Promise<void> | undefined;

  /**
   * Reloads soon, together with all others who want it. However many unknown ids arrive, the database is asked
   * at most once per interval, and an id that was just made elsewhere is still found.
   */
  const reload = () => {
    loading ??= (async () => {
      const wait = loadedAt + timings.reloadInterval - now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      keys = await store.load();
      loadedAt = now();
    })().finally(() => {
      loading = undefined;
    });
    return loading;
  };

  const rotate = () => {
    rotating ??= (async () => {
      keys = await store.rotate(timings, now());
      loadedAt = now();
    })().finally(() => {
      rotating = undefined;
    });
    return rotating;
  };

  const signing = () => keys.find((key) => key.signsFrom <= now() && now() < key.signsUntil);
  const lastSigningMoment = () => Math.max(...keys.map((key) => key.signsUntil));

  return {
    async current() {
      if (keys.length === 0) await reload();
      if (signing() === undefined) await rotate();
      // The next key may come a little later, so nobody waits for it, nor fails with it.
      else if (lastSigningMoment() - now() < timings.publishAhead)
        rotate().catch((error: unknown) => deps.logger.warn({ err: error }, 'signing key was not rotated'));
      const key = signing();
      if (key === undefined) throw new AppError('INTERNAL', 'There is no key to sign with.');
      return { kid: key.kid, key: key.privateKey };
    },
    async find(kid) {
      const find = () => keys.find((key) => key.kid === kid && now() < key.publishedUntil)?.publicKey;
      const known = find();
      if (known !== undefined) return known;
      await reload();
      return find();
    },
    async published() {
      if (now() - loadedAt > timings.reloadInterval) await reload();
      return keys.filter((key) => now() < key.publishedUntil).map((key) => key.publicJwk);
    },
  };
}
