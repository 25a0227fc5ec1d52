import { randomBytes, randomUUID } from 'node:crypto';
import { requeueDeletions } from '@stowage/shared/deletions/requeue-deletions.ts';
import { failJob } from '@stowage/shared/outbox/fail-job.ts';
import { insertJobs, type NewJob } from '@stowage/shared/outbox/insert-jobs.ts';
import { requeuePostings } from '@stowage/shared/quota/requeue-postings.ts';
import { requeueMissingRenders } from '@stowage/shared/renders/requeue-missing-renders.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser } from '../../../scripts/testing/test-rows.ts';
import { deleteFilesOfDeletedUsers } from '../src/delete-files-of-deleted-users.ts';
import { expireRows } from '../src/expire-rows.ts';

let database: TestDatabase;
let user: string;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  await sql`TRUNCATE outbox, files, quota_adjustments CASCADE`.execute(database.db);
  user = await makeUser(database.db);
});

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms);

async function jobs() {
  return await database.db.selectFrom('outbox').select(['queue', 'name', 'payload']).execute();
}

/** A job that is there already, and has failed if it is told to. */
async function known(job: NewJob, failed: boolean): Promise<void> {
  const [id] = await insertJobs(database.db, [job]);
  if (failed) await failJob(database.db, id!, 'it did not work');
}

describe('requeueing deletions', () => {
  it('queues the files that are marked and have no job, once', async () => {
    const { id } = await makeFile(database.db, user, { state: 'deleting', deleted_at: new Date() });
    await makeFile(database.db, user);
    expect(await requeueDeletions(database.db)).toBe(1);
    expect(await jobs()).toEqual([{ queue: 'cleanup', name: 'delete-file', payload: { v: 1, fileId: id } }]);
    expect(await requeueDeletions(database.db)).toBe(0);
  });

  it.each([false, true])('leaves a file alone that has a job (failed: %s)', async (failed) => {
    const { id } = await makeFile(database.db, user, { state: 'deleting', deleted_at: new Date() });
    await known({ name: 'delete-file', payload: { v: 1, fileId: id } }, failed);
    expect(await requeueDeletions(database.db)).toBe(0);
  });
});

// Beside a new backlog Postgres has no statistics to go by, and a bad plan takes minutes.
describe('beside a long queue, before Postgres knows that it is long', () => {
  const FILES = 20_000;

  it('finds the one deletion without a job', async () => {
    await makeFiles('deleting');
    await makeJobs('cleanup', 'delete-file');
    const { id } = await makeFile(database.db, user, { state: 'deleting', deleted_at: new Date() });
    expect(await requeueDeletions(database.db)).toBe(1);
    expect(await jobsOf(id)).toBe(1);
  });

  it('finds the one picture whose job is gone', async () => {
    await makeFiles('stored');
    await makeJobs('thumbnails', 'render-thumbnails');
    const lost = { render_state: 'pending', created_at: ago(HOUR) } as const;
    const { id } = await makeFile(database.db, user, lost);
    expect(await requeueMissingRenders(database.db, { renderedSet: 'set' })).toBe(1);
    expect(await jobsOf(id)).toBe(1);
  });

  const makeFiles = (state: 'stored' | 'deleting') =>
    sql`
      INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, posted_at,
        state, deleted_at, created_at, render_state)
      SELECT uuidv7(), 'stem ' || n, 'png', ${user}::uuid, 'originals/' || n, 'image/png', 1, 'sha256', now(),
        ${state}, now(), now() - interval '1 hour', 'pending'
      FROM generate_series(1, ${FILES}) AS n`.execute(database.db);
  const makeJobs = (queue: string, name: string) =>
    sql`
      INSERT INTO outbox (queue, name, payload, publishes)
      SELECT ${queue}, ${name}, jsonb_build_object('v', 1, 'fileId', id), 1 FROM files`.execute(database.db);
  const jobsOf = async (fileId: string) =>
    (await jobs()).filter(({ payload }) => payload.fileId === fileId).length;
});

describe('requeueing postings', () => {
  it.each([
    ['a charge', () => makeFile(database.db, user)],
    [
      'a refund',
      () =>
        makeFile(database.db, user, { state: 'deleting', posted_at: new Date(), refunded_at: new Date() }),
    ],
    [
      'an adjustment',
      () =>
        database.db
          .insertInto('quota_adjustments')
          .values({ user_id: user, bytes: 1, reason: 'repair' })
          .execute(),
    ],
  ])('queues the user of %s that waits without a job, once', async (_name, make) => {
    await make();
    expect(await requeuePostings(database.db)).toBe(1);
    expect(await jobs()).toEqual([
      { queue: 'quota-accounting', name: 'post-usage', payload: { v: 1, userId: user } },
    ]);
    expect(await requeuePostings(database.db)).toBe(0);
  });

  it.each([false, true])('leaves a user alone who has a job (failed: %s)', async (failed) => {
    await makeFile(database.db, user);
    await known({ name: 'post-usage', payload: { v: 1, userId: user } }, failed);
    expect(await requeuePostings(database.db)).toBe(0);
  });

  it('has nothing to do when all is posted', async () => {
    await makeFile(database.db, user, { posted_at: new Date() });
    expect(await requeuePostings(database.db)).toBe(0);
  });
});

describe('the files of deleted users', () => {
  it('are all marked, in as many batches as it takes', async () => {
    const kept = await makeFile(database.db, await makeUser(database.db));
    for (let n = 0; n < 7; n += 1) await makeFile(database.db, user);
    await database.db
      .updateTable('users')
      .set({ state: 'deleted', email: null })
      .where('id', '=', user)
      .execute();
    expect(await deleteFilesOfDeletedUsers(database.db, undefined, 3)).toBe(7);
    expect(await deleteFilesOfDeletedUsers(database.db)).toBe(0);
    expect(await jobs()).toHaveLength(7);
    const left = await database.db.selectFrom('files').select('id').where('state', '=', 'stored').execute();
    expect(left).toEqual([{ id: kept.id }]);
  });
});

describe('expired rows', () => {
  it('are removed, and no others', async () => {
    const answer = { user_id: user, files: '[]' };
    await database.db
      .insertInto('idempotency_keys')
      .values([
        { ...answer, key: 'old', created_at: ago(24 * HOUR + 1_000) },
        { ...answer, key: 'young', created_at: ago(23 * HOUR) },
      ])
      .execute();
    const session = (expired: number, idle: number, revoked: number | null) => ({
      id: randomUUID(),
      user_id: user,
      expires_at: ago(expired),
      idle_expires_at: ago(idle),
      revoked_at: revoked === null ? null : ago(revoked),
    });
    const alive = session(-9 * HOUR, -HOUR, null);
    const justRevoked = session(-9 * HOUR, -HOUR, HOUR);
    await database.db
      .insertInto('sessions')
      .values([
        alive,
        justRevoked,
        session(25 * HOUR, 25 * HOUR, null),
        session(-9 * HOUR, 25 * HOUR, null),
        session(-9 * HOUR, -HOUR, 25 * HOUR),
      ])
      .execute();
    const signUp = (expired: number) => ({
      user_id: user,
      password_hash: 'x',
      username: randomBytes(4).toString('hex'),
      expires_at: ago(expired),
    });
    await database.db
      .insertInto('sign_ups')
      .values([signUp(25 * HOUR), signUp(HOUR), signUp(-HOUR)])
      .execute();

    // A batch of one: it goes on until nothing is left.
    expect(await expireRows(database.db, undefined, 1)).toBe(5);
    expect(await expireRows(database.db)).toBe(0);
    const keys = await database.db.selectFrom('idempotency_keys').select('key').execute();
    expect(keys).toEqual([{ key: 'young' }]);
    const sessions = await database.db.selectFrom('sessions').select('id').execute();
    expect(sessions.map((row) => row.id).sort()).toEqual([alive.id, justRevoked.id].sort());
    expect(await database.db.selectFrom('sign_ups').select('id').execute()).toHaveLength(2);
  });
});
