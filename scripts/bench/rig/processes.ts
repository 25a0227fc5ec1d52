import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/** What a process and its children have used, by the kernel's own accounting (Linux only). */

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** Of itself and of children that have ended and were waited for, in ms. */
  readonly cpuMs: number;
}

/** CPU time in ms that the processes and all their descendants have used since they started. */
export async function cpuMs(pids: readonly number[]): Promise<number> {
  return (await familyOf(pids)).reduce((sum, stat) => sum + stat.cpuMs, 0);
}

/** Memory in MB of the processes and all their descendants; what several share is counted once. */
export async function memoryMb(pids: readonly number[]): Promise<number> {
  const family = await familyOf(pids);
  const sizes = await Promise.all(family.map(({ pid }) => proportionalMb(pid)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The highest of `memoryMb` while the work goes on. */
export async function peakMemoryMb(pids: readonly number[], work: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  let over = false;
  const watch = async () => {
    while (!over) {
      peak = Math.max(peak, await memoryMb(pids));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const watching = watch();
  try {
    await work();
  } finally {
    over = true;
    await watching;
  }
  return peak;
}

async function familyOf(pids: readonly number[]): Promise<Stat[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = (await Promise.all(names.map(readStat))).filter((stat) => stat !== undefined);
  const family = new Set(pids);
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const { pid, parent } of stats) if (family.has(parent)) family.add(pid);
  }
  return stats.filter(({ pid }) => family.has(pid));
}

async function readStat(pid: string): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // stat(5), from field 3 on: the name before it may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
  return { pid: Number(pid), parent: Number(fields[1]), cpuMs: (ticks * 1_000) / TICKS_PER_SECOND };
}

async function proportionalMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1_024;
}
