import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from '../database/open-database.ts';

export interface Sweep {
  /** Unique among all processes: those with the same name take turns. */
  readonly name: string;
  /** Time between two runs, whichever processes run them, ms. */
  readonly intervalMs: number;
  /** Does the work. It must bear being cut off and being run twice at once. */
  run(signal: AbortSignal): Promise<unknown>;
}

export interface SweepsOptions {
  readonly db: Db;
  readonly logger: Logger;
  readonly sweeps: readonly Sweep[];
}

export interface Sweeps {
  /** Runs a sweep now, whenever it ran last. Rejects with what it throws. */
  runNow(name: string): Promise<void>;
  /** Starts no more runs, asks running ones to stop, and waits for them. */
  close(): Promise<void>;
}

/** A process looks this many times per interval, so that a run is late by a quarter of it at most. */
const LOOKS_PER_INTERVAL = 4;

/**
 * Starts periodic work. Every process that may do it has the timer; a run belongs to the process that moves
 * `last_run_at` forward, so there is one run per interval however many processes there are, and none is lost with
 * a process or with the queue.
 */
export function startSweeps({ db, logger, sweeps }: SweepsOptions): Sweeps {
  const stop = new AbortController();
  const running = new Map<string, Promise<void>>();

  const run = (sweep: Sweep): Promise<void> => {
    const work = (async () => {
      const startedAt = performance.now();
      const result = await sweep.run(stop.signal);
      const durationMs = Math.round(performance.now() - startedAt);
      logger.debug({ sweep: sweep.name, durationMs, result }, 'sweep ended');
    })().finally(() => running.delete(sweep.name));
    running.set(sweep.name, work);
    return work;
  };

  const look = async (sweep: Sweep) => {
    if (stop.signal.aborted || running.has(sweep.name)) return;
    try {
      if (await claim(db, sweep.name, sweep.intervalMs)) await (running.get(sweep.name) ?? run(sweep));
    } catch (error) {
      if (!stop.signal.aborted) logger.warn({ err: error, sweep: sweep.name }, 'sweep failed');
    }
  };
  const looks = new Set<Promise<void>>();
  const timers = sweeps.map((sweep) => {
    const start = () => {
      const looking: Promise<void> = look(sweep).finally(() => looks.delete(looking));
      looks.add(looking);
    };
    start();
    return setInterval(start, sweep.intervalMs / LOOKS_PER_INTERVAL);
  });

  return {
    async runNow(name) {
      const sweep = sweeps.find((candidate) => candidate.name === name);
      if (!sweep) throw new Error(`There is no sweep ${name}.`);
      // A run that is under way may have passed what the caller wants swept.
      while (running.has(name)) await running.get(name)?.catch(() => undefined);
      await claim(db, name, 0);
      await run(sweep);
    },

    async close() {
      for (const timer of timers) clearInterval(timer);
      stop.abort();
      await Promise.allSettled([...looks, ...running.values()]);
    },
  };
}

async function claim(db: Db, name: string, intervalMs: number): Promise<boolean> {
  const { rows } = await sql`
    INSERT INTO sweeps (name, last_run_at) VALUES (${name}, now())
    ON CONFLICT (name) DO UPDATE SET last_run_at = now()
      WHERE sweeps.last_run_at <= now() - ${intervalMs} * interval '1 millisecond'
    RETURNING name`.execute(db);
  return rows.length > 0;
}
