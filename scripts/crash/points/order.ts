import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultPoint } from '@stowage/shared/faults/fault-points.ts';

/** An order that lies at a fault point. */
export interface Order {
  /** Resolves to whether a process came by within the time; if not, the order is withdrawn. */
  taken(deadlineMs: number): Promise<boolean>;
}

/** Orders the first process that comes to the point to do something there. */
export function order(folder: string, point: FaultPoint, action: string): Order {
  const before = takenOrders(folder, point).length;
  const path = join(folder, point);
  const draft = `${path}.draft`;
  writeFileSync(draft, action);
  renameSync(draft, path);
  return {
    async taken(deadlineMs) {
      const deadline = Date.now() + deadlineMs;
      while (Date.now() < deadline) {
        if (!existsSync(path) && takenOrders(folder, point).length > before) return true;
        await sleep(20);
      }
      rmSync(path, { force: true });
      return takenOrders(folder, point).length > before;
    },
  };
}

function takenOrders(folder: string, point: FaultPoint): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(`${point}.`) && name.endsWith('.taken'));
}
