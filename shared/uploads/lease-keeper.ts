import type { Db } from '../database/open-database.ts';
import { renewLeases } from './renew-lease.ts';

export interface LeaseKeeperOptions {
  readonly db: Db;
  readonly leaseMs: number;
  /** How long before the end of a lease its writes are stopped. */
  readonly marginMs: number;
  /** How often leases are looked at; each is renewed once a third of it is over. */
  readonly tickMs: number;
  readonly onError: (error: unknown) => void;
}

export interface LeaseKeeper {
  /**
   * Keeps an upload's lease until the returned function is called.
   * @param askedAt when the statement that gave the lease was sent, by `performance.now()`
   * @param onLost called once when the lease was taken away or could not be renewed in time: stop writing
   */
  keep(id: string, askedAt: number, onLost: () => void): () => void;
  close(): void;
}

interface Kept {
  endsAt: number;
  readonly onLost: () => void;
}

/** Renews the leases of all running uploads of a process, in one statement at a time. */
export function createLeaseKeeper({
  db,
  leaseMs,
  marginMs,
  tickMs,
  onError,
}: LeaseKeeperOptions): LeaseKeeper {
  const kept = new Map<string, Kept>();
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;

  function lose(id: string): void {
    const lease = kept.get(id);
    kept.delete(id);
    lease?.onLost();
  }

  async function renew(ids: readonly string[]): Promise<void> {
    const askedAt = performance.now();
    const renewed = new Set(await renewLeases(db, ids, leaseMs));
    for (const id of ids) {
      const lease = kept.get(id);
      if (lease === undefined) continue;
      if (renewed.has(id)) lease.endsAt = askedAt + leaseMs;
      else lose(id);
    }
  }

  function tick(): void {
    const now = performance.now();
    for (const [id, lease] of kept) if (lease.endsAt - marginMs <= now + tickMs) lose(id);
    const due = [...kept].filter(([, lease]) => lease.endsAt - now < (leaseMs * 2) / 3).map(([id]) => id);
    if (due.length === 0 || renewing) return;
    renewing = true;
    renew(due)
      .catch(onError)
      .finally(() => {
        renewing = false;
      });
  }

  return {
    keep(id, askedAt, onLost) {
      kept.set(id, { endsAt: askedAt + leaseMs, onLost });
      timer ??= setInterval(tick, tickMs).unref();
      return () => void kept.delete(id);
    },
    close() {
      clearInterval(timer);
      kept.clear();
    },
  };
}
