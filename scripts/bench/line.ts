/** What a figure is to reach: its ratio to the counterpart's, or the figure itself where there is none. */
export interface Target {
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One measured line of the table. */
export interface Line {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** What it was measured against, in the same unit. Without one the figure itself is held against the target. */
  readonly counterpart?: { readonly name: string; readonly value: number };
  readonly target?: Target;
  readonly note?: string;
}

/** Ours divided by the counterpart's, or undefined when there is none. */
export function ratioOf({ ours, counterpart }: Line): number | undefined {
  return counterpart === undefined ? undefined : ours / counterpart.value;
}

/** Undefined when the line has no target. A figure that is no number meets nothing. */
export function isMet(line: Line): boolean | undefined {
  const { target } = line;
  if (target === undefined) return undefined;
  const value = ratioOf(line) ?? line.ours;
  if (Number.isNaN(value)) return false;
  return value <= (target.atMost ?? Infinity) && value >= (target.atLeast ?? -Infinity);
}
