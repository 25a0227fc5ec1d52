import { FAULT_POINTS } from '@stowage/shared/faults/fault-points.ts';
import { order } from '../points/order.ts';
import type { Fault } from './fault.ts';

const TAKEN_WITHIN_MS = 8_000;

/** A process dies, or fails once, at a named point that the load happens to bring it to. */
export const POINTS: readonly Fault[] = FAULT_POINTS.flatMap((point) =>
  (['kill', 'throw'] as const).map(
    (action): Fault => ({
      kind: 'kill',
      label: `${action === 'kill' ? 'kill -9' : 'error'} at ${point}`,
      run: ({ faultsFolder }) => order(faultsFolder, point, action).taken(TAKEN_WITHIN_MS),
    }),
  ),
);
