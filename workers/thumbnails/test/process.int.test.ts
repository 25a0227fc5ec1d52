import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { insertJobs } from '@stowage/shared/outbox/insert-jobs.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-thumbnails-'));
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

describe('the process of the thumbnails worker', () => {
  test('starts alone, renders, shows it in its metrics, and leaves in order', async () => {
    const store = openObjectStore({ kind: 'filesystem', folder: join(folder, 'objects') });
    const { db } = database;
    const object_key = `originals/${randomUUID()}/0`;
    const bytes = await makePicture({ width: 200, height: 100, format: 'png' });
    await store.put(object_key, bytes, { contentType: 'image/png' });
    await store.close();
    const { id } = await makeFile(db, await makeUser(db), {
      object_key,
      content_type: 'image/png',
      render_state: 'pending',
    });
    await insertJobs(db, [{ name: 'render-thumbnails', payload: { v: 1, fileId: id } }]);

    const { child, ended } = start({
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      SECRET_KEY: 's'.repeat(32),
      OPS_PORT: '0',
      THUMBNAIL_WIDTHS: '32,64',
    });
    let port: number | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      const { port: opened }: { port?: number } = JSON.parse(line);
      port ??= opened;
      if (port !== undefined) break;
    }
    child.stdout.resume();
    const state = db.selectFrom('files').select('render_state').where('id', '=', id);
    await waitFor(async () => (await state.executeTakeFirstOrThrow()).render_state === 'rendered');
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toMatch(/stowage_renders_total\{[^}]*cause="job"[^}]*\} 1/);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('says all that is wrong, and does not start', async () => {
    const { ended, errors } = start({ THUMBNAILS_CONCURRENCY: '0', THUMBNAIL_WIDTHS: '5000' });
    expect(await ended).toBe(78);
    for (const name of ['DATABASE_URL', 'SECRET_KEY', 'THUMBNAILS_CONCURRENCY', 'THUMBNAIL_WIDTHS'])
      expect(errors()).toContain(name);
  });
});
