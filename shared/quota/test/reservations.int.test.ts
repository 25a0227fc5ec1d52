import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { faultsInBooks, makeUser, readBooks } from '../../../scripts/testing/test-rows.ts';
import { refundFile } from '../../deletions/refund-file.ts';
import { requestDeletion } from '../../deletions/request-deletion.ts';
import { abandonUpload } from '../../uploads/abandon-upload.ts';
import { beginUploads } from '../../uploads/begin-upload.ts';
import { finishUploads } from '../../uploads/finish-upload.ts';
import { originalKey } from '../../uploads/original-keys.ts';
import { sweepUploads } from '../../uploads/sweep-uploads.ts';
import { topUpReservation } from '../../uploads/top-up-reservation.ts';
import { adjustQuota } from '../adjust-quota.ts';

const MAX = 10_000;

let database: TestDatabase;
let user: string;
let session: string;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

beforeEach(async () => {
  user = await makeUser(database.db, { maxBytes: MAX });
  session = randomUUID();
  const tomorrow = new Date(Date.now() + 86_400_000);
  await database.db
    .insertInto('sessions')
    .values({ id: session, user_id: user, idle_expires_at: tomorrow, expires_at: tomorrow })
    .execute();
});

async function begin(reserveBytes: number, leaseMs = 60_000): Promise<string | undefined> {
  const id = randomUUID();
  const intents = [{ id, reserveBytes, idempotencyKey: null }];
  const outcome = await beginUploads(database.db, { userId: user, sessionId: session, intents, leaseMs });
  return outcome.kind === 'begun' ? id : undefined;
}

async function finish(id: string, sizeBytes: number): Promise<string> {
  const fileId = randomUUID();
  const file = {
    id: fileId,
    stem: fileId,
    extension: 'txt',
    objectKey: originalKey(id, 0),
    contentType: 'text/plain',
    sizeBytes,
    sha256: 'x',
    originalName: null,
    width: null,
    height: null,
    renderState: 'none' as const,
  };
  const uploads = [{ id, files: [file], idempotencyKey: null, requestId: null }];
  await finishUploads(database.db, { userId: user, uploads, postingDelayMs: 0 });
  return fileId;
}

function adjust(kind: 'increase' | 'set', bytes: number) {
  return adjustQuota(database.db, { userId: user, kind, bytes, actorId: user, requestId: 'r' });
}

const store = { delete: async () => undefined, dropUnfinished: async () => undefined };

/** Everything that one client may do to a quota, ending in a random way. */
async function anyUpload(n: number): Promise<void> {
  const id = await begin(100 + n, n % 5 === 4 ? -1 : 60_000);
  if (id === undefined) return;
  if (n % 5 === 0) await topUpReservation(database.db, { uploadId: id, userId: user, stepBytes: 50 });
  if (n % 5 === 3) return await abandonUpload(database.db, { id, userId: user, wroteObjects: n % 2 === 0 });
  if (n % 5 === 4) return void (await sweepUploads({ db: database.db, store }));
  const fileId = await finish(id, 90 + n);
  if (n % 2 === 1) return;
  await requestDeletion(database.db, { fileId, requestId: 'r' });
  await refundFile(database.db, { fileId, requestId: undefined });
}

describe('reservations and quota changes', () => {
  it('never admit more together than the limit, whatever happens at once', async () => {
    let running = true;
    let most = 0;
    const watch = (async () => {
      const faults: string[] = [];
      while (running) {
        const { rows } = await sql<{ taken: number }>`
          SELECT stored_bytes + greatest(adjustment_bytes, 0) + reserved_bytes AS taken
          FROM quotas WHERE user_id = ${user}`.execute(database.db);
        most = Math.max(most, rows[0]!.taken);
        faults.push(...(await faultsInBooks(database.db, user)));
      }
      return faults;
    })();
    await Promise.all([
      ...Array.from({ length: 100 }, (_, n) => anyUpload(n)),
      ...Array.from({ length: 40 }, (_, n) => adjust('increase', n * 10)),
      ...Array.from({ length: 20 }, (_, n) => adjust('set', n * 300)),
    ]);
    running = false;
    expect(await watch).toEqual([]);
    expect(most).toBeGreaterThan(MAX / 2);
    expect(most).toBeLessThanOrEqual(MAX);
    expect(await faultsInBooks(database.db, user)).toEqual([]);
  });

  it('admit exactly as many uploads at once as there is room for', async () => {
    const begun = await Promise.all(Array.from({ length: 20 }, () => begin(1_900)));
    expect(begun.filter((id) => id !== undefined)).toHaveLength(5);
    expect(await readBooks(database.db, user)).toMatchObject({ reserved: 9_500 });
  });

  it('give nobody room by a low set', async () => {
    const id = await begin(MAX);
    await finish(id!, MAX);
    expect(await adjust('set', 0)).toMatchObject({ current_quota: 0 });
    expect(await begin(1)).toBeUndefined();
  });

  it('take room by a high set', async () => {
    await adjust('set', MAX - 10);
    expect(await begin(11)).toBeUndefined();
    expect(await begin(10)).toBeDefined();
    expect(await adjust('increase', 1)).toBe('no-room');
  });
});
