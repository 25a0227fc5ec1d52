import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type FilesFixture, openFiles } from './files-fixture.ts';

const [store] = objectStores();
let files: FilesFixture;
/** Another database of the same server, from which the files' one is shut and opened. */
let other: TestDatabase;

beforeAll(async () => {
  files = await openFiles({ store: store!.options });
  other = await openTestDatabase();
});
afterAll(async () => {
  await shut(false);
  await files?.close();
  await other?.close();
});

async function shut(isShut: boolean): Promise<void> {
  await sql`ALTER DATABASE ${sql.id(files.databaseName)} ALLOW_CONNECTIONS ${sql.raw(String(!isShut))}`.execute(
    other.db,
  );
  if (isShut)
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${files.databaseName}`.execute(
      other.db,
    );
}

describe('while Postgres does not answer', () => {
  it('files that were read before are still served, other requests fail, and all is well afterwards', async () => {
    const user = await files.user();
    const read = (name: string, headers = {}) => fetch(`${files.url}/${name}`, { headers });
    const upload = () => files.upload(user, [{ bytes: Buffer.from('text') }]);
    const known = await (await upload()).text();
    const unread = await (await upload()).text();
    const etag = (await read(known)).headers.get('etag')!;

    await shut(true);
    for (let again = 0; again < 3; again += 1) expect(await (await read(known)).text()).toBe('text');
    expect((await read(known, { 'if-none-match': etag })).status).toBe(304);
    for (const response of [
      await read(unread),
      await upload(),
      await fetch(`${files.url}/files`, { headers: { authorization: `Bearer ${user.token}` } }),
    ]) {
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({
        status: 500,
        detail: expect.not.stringMatching(/database|postgres/i),
      });
    }

    await shut(false);
    await waitFor(async () => (await read(unread)).status === 200);
    expect((await upload()).status).toBe(200);
    expect(await readBooks(files.db, user.id)).toMatchObject({ stored: 12, reserved: 0, uploads: 0 });
  });
});
