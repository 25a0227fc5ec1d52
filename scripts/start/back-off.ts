export interface BackOffOptions {
  /** The first delay, in milliseconds; each further one is twice as long. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** After running this long without a fault the count starts again. */
  readonly forgivenAfterMs: number;
}

export const RESTART_BACK_OFF: BackOffOptions = { firstMs: 250, longestMs: 30_000, forgivenAfterMs: 60_000 };

export interface BackOff {
  /** How long to wait before the next start, in milliseconds, after a run that lasted `ranMs`. */
  next(ranMs: number): number;
  /** Faults in a row. */
  readonly faults: number;
}

/** Delays that double from one fault to the next, until a run was long enough to forgive the earlier ones. */
export function createBackOff(options: BackOffOptions): BackOff {
  let faults = 0;
  return {
    next(ranMs) {
      if (ranMs >= options.forgivenAfterMs) faults = 0;
      faults += 1;
      return Math.min(options.firstMs * 2 ** (faults - 1), options.longestMs);
    },
    get faults() {
      return faults;
    },
  };
}
