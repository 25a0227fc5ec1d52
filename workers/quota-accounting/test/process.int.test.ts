import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-quota-accounting-'));
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the process with nothing but this environment. */
function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, ended, errors: () => errors };
}

describe('the process of the quota-accounting worker', () => {
  it('starts alone from its environment, gets ready, and leaves in order when it is told to', async () => {
    const { child, ended } = start({
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      SECRET_KEY: 's'.repeat(32),
      OPS_PORT: '0',
    });
    const lines = createInterface({ input: child.stdout });
    let port: number | undefined;
    for await (const line of lines) {
      const { port: opened }: { port?: number } = JSON.parse(line);
      port ??= opened;
      if (port !== undefined) break;
    }
    child.stdout.resume();
    const ready = await fetch(`http://127.0.0.1:${port}/health/ready`);
    expect(await ready.json()).toMatchObject({ status: 'ready' });
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  it('says all that is missing, and does not start', async () => {
    const { ended, errors } = start({ QUOTA_ACCOUNTING_CONCURRENCY: '0' });
    expect(await ended).toBe(78);
    for (const name of ['DATABASE_URL', 'SECRET_KEY', 'QUOTA_ACCOUNTING_CONCURRENCY'])
      expect(errors()).toContain(name);
  });
});
