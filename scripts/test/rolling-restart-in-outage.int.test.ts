import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BreakableLine, openBreakableLine } from '../../shared/queues/test/breakable-line.ts';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { waitFor } from '../testing/wait-for.ts';
import { startProcess } from './started-process.ts';

const PATIENCE = { timeoutMs: 30_000 };
const MAINS = [
  'apps/api/src/main.ts',
  ...['thumbnails', 'quota-accounting', 'cleanup', 'mail'].map((name) => `workers/${name}/src/main.ts`),
];

let database: TestDatabase;
let folder: string;
let line: BreakableLine;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-stopping-'));
  line = await openBreakableLine(database.url, 5432);
});
afterAll(async () => {
  await line?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

const start = (main: string) =>
  startProcess(main, {
    DATABASE_URL: line.url,
    DATA_DIR: folder,
    SECRET_KEY: 'a secret of the tests, thirty-two characters',
    SHUTDOWN_GRACE_SECONDS: '20',
  });

describe.each(MAINS)('%s', { timeout: 120_000 }, (main) => {
  it.each(['cut', 'freeze'] as const)(
    'lives through an outage of Postgres and its queue (%s)',
    async (how) => {
      line.mend();
      const started = await start(main);
      line[how]();
      await waitFor(async () => !(await started.isReady()), PATIENCE);
      line.mend();
      await waitFor(() => started.isReady(), PATIENCE);
      line[how]();
      await waitFor(async () => !(await started.isReady()), PATIENCE);
      started.kill('SIGTERM');
      expect(await started.ended, started.output()).toBe(0);
    },
  );
});
