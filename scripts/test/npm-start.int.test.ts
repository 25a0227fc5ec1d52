import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Instance } from '../start/instance-file.ts';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { type StartedProgram, startThroughNpm, untilGone } from './started-program.ts';

let database: TestDatabase;
let folder: string;
let program: StartedProgram;
let pids: number[];

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-test-npm-'));
  const dataFolder = join(folder, 'data');
  program = await startThroughNpm(folder, { DATABASE_URL: database.url, DATA_DIR: dataFolder });
  await program.ready();
  const { supervisor, children }: Instance = JSON.parse(
    await readFile(join(dataFolder, 'instance.json'), 'utf8'),
  );
  pids = [supervisor.pid, ...children.map((child) => child.pid)];
});
afterEach(async () => {
  program.kill('SIGKILL');
  await untilGone(pids);
  await rm(folder, { recursive: true, force: true });
});

describe('npm start', () => {
  it('ends in order when npm gets SIGTERM', async () => {
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    await untilGone(pids);
    expect(program.output()).toContain('"msg":"stopped"');
  });

  it('ends in order on Ctrl-C, which reaches npm and the supervisor alike', async () => {
    program.killGroup('SIGINT');
    expect(await program.ended).toBe(0);
    await untilGone(pids);
    expect(program.output()).toContain('"msg":"stopped"');
    expect(program.output()).not.toContain('killed');
  });

  it('ends when npm is killed', async () => {
    program.kill('SIGKILL');
    await untilGone(pids);
  });
});
