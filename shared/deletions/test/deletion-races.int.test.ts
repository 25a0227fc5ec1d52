import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { failRender } from '../../renders/fail-render.ts';
import { finishRender } from '../../renders/finish-render.ts';
import { refundFile } from '../refund-file.ts';
import { requestDeletion, requestDeletionOfUser } from '../request-deletion.ts';

const FILES = 30;

let database: TestDatabase;
let user: string;
let ids: string[];

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  user = await makeUser(database.db);
  ids = [];
  for (let n = 0; n < FILES; n += 1) {
    ids.push((await makeFile(database.db, user, { render_state: 'pending', size_bytes: 10 })).id);
  }
  await database.db
    .updateTable('quotas')
    .set({ renders_outstanding: FILES })
    .where('user_id', '=', user)
    .execute();
});

const remove = async (fileId: string) => {
  await requestDeletion(database.db, { fileId, requestId: 'r' });
  await refundFile(database.db, { fileId, requestId: 'r' });
};

const finish = (fileId: string) =>
  finishRender(database.db, {
    jobId: randomUUID(),
    fileId,
    width: 10,
    height: 10,
    renderedSet: 's',
    variants: [{ width: 1, height: 1, format: 'webp', objectKey: fileId, sizeBytes: 1, sha256: 'x' }],
  });

const fail = (fileId: string) => failRender(database.db, { jobId: randomUUID(), fileId, reason: 'broken' });

async function outstanding(): Promise<number> {
  const row = await database.db
    .selectFrom('quotas')
    .select('renders_outstanding')
    .where('user_id', '=', user)
    .executeTakeFirstOrThrow();
  return row.renders_outstanding;
}

async function states() {
  const rows = await database.db
    .selectFrom('files')
    .leftJoin('variants', 'variants.file_id', 'files.id')
    .select(['files.id', 'state', 'render_state', 'variants.object_key as variant'])
    .where('user_id', '=', user)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

describe('a deletion that races with the render of its file', () => {
  it('counts the render as over exactly once, and tells the renderer what became of the file', async () => {
    const outcomes = await Promise.all(
      ids.map(async (id, n) => {
        const work = [() => remove(id), () => (n % 3 === 0 ? fail(id) : finish(id))];
        if (n % 2 === 0) work.reverse();
        const [first, second] = await Promise.all(work.map((step) => step()));
        return first ?? second;
      }),
    );
    expect(await outstanding()).toBe(0);
    const after = await states();
    ids.forEach((id, n) => {
      expect(after.get(id)?.state).toBe('deleting');
      const outcome = outcomes[n];
      // Variants of a file that was gone before are not recorded: the renderer removes what it wrote.
      if (outcome?.kind === 'gone') expect(after.get(id)?.variant).toBeNull();
      if (outcome?.kind === 'finished') expect(after.get(id)?.variant).toBe(id);
    });
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('ends without a deadlock when all files of a user go while they are rendered', async () => {
    await Promise.all([
      requestDeletionOfUser(database.db, { userId: user }),
      ...ids.map((id) => finish(id)),
      requestDeletionOfUser(database.db, { userId: user }),
      ...ids.toReversed().map((id) => remove(id)),
    ]);
    expect(await outstanding()).toBe(0);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });
});
