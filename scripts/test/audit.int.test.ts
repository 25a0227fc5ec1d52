import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditRig, openAuditRig, services, WIDTHS } from '@stowage/shared/audit/test/audit-rig.ts';
import type { ObjectStoreOptions } from '@stowage/shared/objects/open-object-store.ts';
import { originalKey } from '@stowage/shared/uploads/original-keys.ts';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'stowage-audit-'));
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs the command as an operator would. */
function audit(args: string[], env: Record<string, string | undefined>): Promise<Outcome> {
  const script = new URL('../audit.ts', import.meta.url).pathname;
  return new Promise((resolve) => {
    const own = { PATH: process.env.PATH, DATA_DIR: folder, THUMBNAIL_WIDTHS: WIDTHS.join(), ...env };
    execFile(process.execPath, [script, ...args], { env: own }, (error, out, errors) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, errors });
    });
  });
}

function storeVariables(options: ObjectStoreOptions): Record<string, string> {
  if (options.kind === 'filesystem') return {};
  const { endpoint, bucket, accessKeyId, secretAccessKey } = options;
  return {
    S3_ENDPOINT: endpoint,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

describe.each(services())('npm run audit on $name', ({ store, queue }) => {
  // A process finds its objects in a folder of the data folder.
  const options =
    store.kind === 'filesystem'
      ? () => ({ kind: 'filesystem' as const, folder: join(folder, 'objects') })
      : () => store;
  let rig: AuditRig;
  let live: Awaited<ReturnType<AuditRig['liveSystem']>>;
  beforeEach(async () => {
    rig = await openAuditRig({ db: database.db, store: options(), queue });
    live = await rig.liveSystem();
  });
  afterEach(() => rig.close());

  const env = () => ({
    DATABASE_URL: database.url,
    REDIS_URL: queue.kind === 'redis' ? queue.url : undefined,
    ...storeVariables(store),
  });

  test('prints a table and exits with 0 when all is in order', async () => {
    const { code, out, errors } = await audit(['--deep'], env());
    expect([code, errors]).toEqual([0, '']);
    expect(out.split('\n')).toEqual([
      'invariant                            checked  violations  examples',
      'I1 what was acknowledged reads back        4           0',
      'I2 quotas, files and ledger agree          1           0',
      expect.stringMatching(/^I3 nothing outlives its lease +\d+ +0$/),
      'I4 pictures have their variants            3           0',
      'I5 objects and rows belong together       18           0',
      '',
      'All in order.',
      '',
    ]);
  });

  test('names what is wrong and exits with 1, mends it when it is told to, and exits with 0', async () => {
    await sql`UPDATE quotas SET stored_bytes = stored_bytes + 12`.execute(database.db);
    await rig.store.delete([...(await rig.keysUnder(`variants/${live.picture.id}/`))]);
    const found = await audit([], env());
    expect([found.code, found.errors]).toEqual([1, '']);
    expect(found.out).toContain(`user ${live.user}: stored_bytes 5012, files 5000`);
    expect(found.out).toMatch(/^I5 .* 4 {2}variant 64 (png|webp) of file/m);
    expect(found.out).toContain('off by 12 bytes');

    const mended = await audit(['--repair'], env());
    expect(mended.code).toBe(0);
    expect(mended.out).toContain('5 violations, all mended or in the hands of a job that mends them.');
    expect(mended.errors.match(/ repaired \(balance-books\): I2 user /g)).toHaveLength(1);
    expect(mended.errors.match(/ repaired \(render\): I5 variant /g)).toHaveLength(4);
    const { out } = await audit([], env());
    expect(out).toMatch(/^I2 .* 0$/m);
  });

  test('exits with 1 as long as something is left that it cannot mend', async () => {
    await rig.store.delete([live.file.object_key]);
    const { code, out } = await audit(['--repair'], env());
    expect([code, out]).toEqual([1, expect.stringContaining('2 violations, of which 2 are left.')]);
  });

  test('moves an object without a row once it is as old as it is told', async () => {
    if (store.kind === 's3') return; // nobody can set the time of an object there
    const key = originalKey(randomUUID(), 0);
    await rig.put(key, Buffer.from('x'));
    const old = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(folder, 'objects', key), old, old);
    expect((await audit(['--repair'], env())).code).toBe(1);
    expect(await rig.keysUnder('quarantine/')).toEqual([]);
    expect((await audit(['--repair', '--orphan-age', '1.5'], env())).code).toBe(0);
    expect(await rig.keysUnder('quarantine/')).toEqual([`quarantine/${key}`]);
  });

  test('prints JSON for programs', async () => {
    const { code, out } = await audit(['--json'], env());
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      driftBytes: 0,
      findings: { I1: { checked: 4, violations: 0, examples: [] } },
    });
  });

  test('knows the embedded parts of a data folder while Stowage runs on it', async () => {
    const { hostname, port, username, password } = new URL(database.url);
    // The database of `npm start` has a name and a user of its own.
    if (queue.kind === 'redis' || store.kind === 's3' || hostname !== '127.0.0.1' || username !== 'stowage')
      return;
    const data = join(folder, 'postgres', 'data');
    await mkdir(data, { recursive: true });
    await writeFile(join(folder, 'postgres', 'password'), decodeURIComponent(password));
    await writeFile(join(data, 'postmaster.pid'), `1\n${data}\n0\n${port}\n`);
    const { code, errors } = await audit([], {});
    // It was reached, and this one is empty.
    expect([code, errors]).toEqual([2, expect.stringMatching(/is not initialized|does not exist/)]);
  });
});

describe('npm run audit', () => {
  test.each([
    ['--all', /Unknown option '--all'/],
    ['--orphan-age=soon', /must be a number of hours/],
    ['--orphan-age=5', /is for --repair/],
  ])('refuses %s', async (flag, message) => {
    const { code, errors } = await audit([flag], { DATABASE_URL: database.url });
    expect([code, errors]).toEqual([64, expect.stringMatching(message)]);
  });

  test('explains itself', async () => {
    const { code, out } = await audit(['--help'], {});
    expect([code, out]).toEqual([0, expect.stringContaining('Usage: npm run audit')]);
  });

  test('says which variable is missing when there is no database', async () => {
    const nowhere = { DATA_DIR: join(folder, 'nothing') };
    const { code, errors } = await audit([], nowhere);
    expect([code, errors]).toEqual([78, expect.stringContaining('DATABASE_URL is missing')]);
  });

  test.each([
    ['the database', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }],
    [
      'the object store',
      { S3_ENDPOINT: 'http://127.0.0.1:1', S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b' },
    ],
    ['the queue', { REDIS_URL: 'redis://127.0.0.1:1' }],
  ])('exits with 2, and not as if something were wrong, when %s is away', async (_what, env) => {
    const { code, out, errors } = await audit([], { DATABASE_URL: database.url, ...env });
    expect([code, out]).toEqual([2, '']);
    expect(errors).toMatch(/^It could not be checked: /);
  });
});
