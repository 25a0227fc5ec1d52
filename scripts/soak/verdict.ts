/** Memory that the last third of a soak may need more than the middle one. */
const MOST_GROWTH = 1.15;

export interface Sample {
  readonly seconds: number;
  readonly memoryMb: number;
}

export interface Verdict {
  readonly isFlat: boolean;
  /** Medians. */
  readonly middleMb: number;
  readonly lastMb: number;
}

/** Whether memory had stopped growing: the first third is for warming up, then the median must stay. */
export function judgeMemory(samples: readonly Sample[]): Verdict {
  const third = Math.floor(samples.length / 3);
  const middleMb = median(samples.slice(third, 2 * third));
  const lastMb = median(samples.slice(-third));
  return { isFlat: lastMb <= middleMb * MOST_GROWTH, middleMb, lastMb };
}

function median(samples: readonly Sample[]): number {
  const sorted = samples.map(({ memoryMb }) => memoryMb).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
