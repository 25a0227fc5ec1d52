import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { RenderOrder, RenderReport, RenderWay } from '../programs/render-program.ts';
import { oneMessage } from './one-message.ts';

const PROGRAM = join(import.meta.dirname, '../programs/render-program.ts');

/** The widths and formats of a set, as they are rendered by default. */
export const WIDTHS = [64, 128, 256, 512, 1024];

/** Renders pictures in processes of their own, one for each way, so that none profits from another's warm caches. */
export interface RenderSets {
  render(order: RenderOrder): Promise<RenderReport>;
  close(): void;
}

export function createRenderSets(): RenderSets {
  const children = new Map<RenderWay, ChildProcess>();
  return {
    async render(order) {
      const child =
        children.get(order.way) ?? fork(PROGRAM, { env: { ...process.env, MALLOC_ARENA_MAX: '2' } });
      children.set(order.way, child);
      child.send(order);
      return (await oneMessage(child)) as RenderReport; // the program sends nothing else
    },
    close() {
      for (const child of children.values()) child.disconnect();
    },
  };
}
