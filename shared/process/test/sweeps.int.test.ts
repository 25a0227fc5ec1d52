import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type Sweep, type Sweeps, startSweeps } from '../sweeps.ts';

const silent = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
let database: TestDatabase;
const started: Sweeps[] = [];
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(() => database.db.deleteFrom('sweeps').execute());
afterEach(async () => {
  for (const sweeps of started.splice(0)) await sweeps.close();
});

function start(...sweeps: Sweep[]): Sweeps {
  const running = startSweeps({ db: database.db, logger: silent, sweeps });
  started.push(running);
  return running;
}

describe('sweeps', () => {
  test('run once per interval, however many processes there are', async () => {
    let runs = 0;
    const sweep = {
      name: 'dust',
      intervalMs: HOUR_MS,
      run: async () => {
        runs += 1;
      },
    };
    const last = { ...sweep, name: 'last' };
    const processes = [start(sweep, last), start(sweep, last), start(sweep, last)];
    await waitFor(() => runs === 2);
    for (const process of processes) await process.close();
    expect(runs).toBe(2);
  });

  test('run again when the interval is over, also after another process ran them last', async () => {
    let runs = 0;
    const run = async () => {
      runs += 1;
    };
    await sql`INSERT INTO sweeps VALUES ('dust', now() - interval '61 min'), ('later', now() - interval '59 min')`.execute(
      database.db,
    );
    start({ name: 'dust', intervalMs: HOUR_MS, run });
    const later = start({ name: 'later', intervalMs: HOUR_MS, run });
    await waitFor(() => runs === 1);
    await later.close();
    expect(runs).toBe(1);
  });

  test('go on after one that failed', async () => {
    let runs = 0;
    const run = async () => {
      runs += 1;
      throw new Error('dirty');
    };
    start({ name: 'dust', intervalMs: 20, run });
    await waitFor(() => runs >= 3);
  });

  test('run when they are asked to, after the run that is under way', async () => {
    const order: string[] = [];
    const goOn = Promise.withResolvers<void>();
    let runs = 0;
    const sweeps = start({
      name: 'dust',
      intervalMs: HOUR_MS,
      run: async () => {
        runs += 1;
        const run = runs;
        order.push(`${run} begins`);
        if (run === 1) await goOn.promise;
        order.push(`${run} ends`);
      },
    });
    await waitFor(() => order.length === 1);
    const second = sweeps.runNow('dust');
    goOn.resolve();
    await second;
    expect(order).toEqual(['1 begins', '1 ends', '2 begins', '2 ends']);
  });

  test('are asked to stop when the process closes, which waits for them', async () => {
    const began = Promise.withResolvers<void>();
    let stopped = false;
    const sweeps = start({
      name: 'dust',
      intervalMs: HOUR_MS,
      run: async (signal) => {
        began.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        stopped = true;
      },
    });
    await began.promise;
    await sweeps.close();
    expect(stopped).toBe(true);
  });
});
