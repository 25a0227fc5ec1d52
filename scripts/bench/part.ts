import type { Line } from './line.ts';
import type { Rig } from './rig/rig.ts';

/** One part of the benchmark: what it measures, and how. */
export interface Part {
  readonly name: string;
  readonly about: string;
  run(rig: Rig): Promise<readonly Line[]>;
}
