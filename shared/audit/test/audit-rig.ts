import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import { objectStores, queueBackends } from '../../../scripts/testing/test-services.ts';
import type { Db } from '../../database/open-database.ts';
import { requestDeletion } from '../../deletions/request-deletion.ts';
import { configuredVariants, renderedSet, variantKey } from '../../images/variant-settings.ts';
import type { ObjectStoreOptions } from '../../objects/open-object-store.ts';
import { openObjectStore } from '../../objects/open-object-store.ts';
import { insertJobs } from '../../outbox/insert-jobs.ts';
import type { QueueBackendOptions } from '../../queues/open-queue-backend.ts';
import { openRig } from '../../queues/test/rig.ts';
import { originalKey } from '../../uploads/original-keys.ts';
import type { AuditWindows } from '../audit-deps.ts';
import { type AuditOptions, type AuditReport, runAudit } from '../run-audit.ts';

export const WIDTHS = [64, 128];
/** Everything is looked at again at once, and an object counts as settled when it is there. */
export const NO_WINDOWS: Partial<AuditWindows> = { sweepMs: 0, secondPassMs: 0, refillMs: 0 };

/** Each object store with a queue, so that both kinds of both are tried. */
export function services(): { name: string; store: ObjectStoreOptions; queue: QueueBackendOptions }[] {
  const [stores, queues] = [objectStores(), queueBackends()];
  return Array.from({ length: Math.max(stores.length, queues.length) }, (_, n) => {
    const [store, queue] = [stores[n % stores.length]!, queues[n % queues.length]!];
    return { name: `${store.name} and ${queue.name}`, store: store.options, queue: queue.options };
  });
}

export type AuditRig = Awaited<ReturnType<typeof openAuditRig>>;

/** An empty Stowage with all its services, and hands to fill it as its processes would. */
export async function openAuditRig(options: {
  readonly db: Db;
  readonly store: ObjectStoreOptions;
  readonly queue: QueueBackendOptions;
}) {
  const { db } = options;
  await sql`TRUNCATE users, uploads, outbox, sweeps CASCADE`.execute(db);
  const queues = await openRig(db, options.queue);
  const store = openObjectStore(options.store);
  for (const prefix of ['originals/', 'variants/', 'quarantine/'])
    await store.delete(await keysUnder(prefix));

  async function keysUnder(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of store.list(prefix)) keys.push(key);
    return keys.sort();
  }

  const put = (key: string, bytes: Uint8Array) => store.put(key, bytes, { contentType: 'image/png' });

  /** A stored file of some bytes, as it is when all about it is done. */
  async function file(user: string, values: Partial<TestFile> = {}, size = 1_000): Promise<TestFile> {
    const bytes = randomBytes(size);
    const made = await makeFile(db, user, {
      size_bytes: size,
      sha256: sha256(bytes),
      object_key: originalKey(randomUUID(), 0),
      ...values,
    });
    await put(made.object_key, bytes);
    await post(user);
    return made;
  }

  /** A picture of 200 × 100 px with all its variants. */
  async function picture(user: string, values: Partial<TestFile> = {}): Promise<TestFile> {
    const made = await file(user, {
      content_type: 'image/png',
      extension: 'png',
      width: 200,
      height: 100,
      render_state: 'rendered',
      rendered_set: renderedSet(WIDTHS),
      ...values,
    });
    for (const { width, height, format } of configuredVariants({ width: 200, height: 100 }, 'png', WIDTHS)) {
      const bytes = randomBytes(100 + width);
      const object_key = variantKey(made.id, width, format);
      await put(object_key, bytes);
      const row = { file_id: made.id, width, height, format, object_key, size_bytes: bytes.length };
      await db
        .insertInto('variants')
        .values({ ...row, sha256: sha256(bytes) })
        .execute();
    }
    return made;
  }

  /** A picture whose render has its job. */
  async function pendingPicture(user: string, values: Partial<TestFile> = {}): Promise<TestFile> {
    const type = { content_type: 'image/png', extension: 'png', render_state: 'pending' as const };
    const made = await file(user, { ...type, ...values });
    await db
      .updateTable('quotas')
      .set((eb) => ({ renders_outstanding: eb('renders_outstanding', '+', 1) }))
      .where('user_id', '=', user)
      .execute();
    await queues.publish([{ name: 'render-thumbnails', payload: { v: 1, fileId: made.id } }]);
    return made;
  }

  /** An upload that is under way and has written a part. */
  async function upload(user: string, leaseMs = 120_000): Promise<string> {
    const id = randomUUID();
    await db
      .insertInto('uploads')
      .values({ id, user_id: user, reserved_bytes: 500, lease_until: new Date(Date.now() + leaseMs) })
      .execute();
    await db
      .updateTable('quotas')
      .set((eb) => ({ reserved_bytes: eb('reserved_bytes', '+', 500) }))
      .where('user_id', '=', user)
      .execute();
    await put(originalKey(id, 0), randomBytes(10));
    return id;
  }

  /** Appends to the ledger what is not in it yet, as the posting does. */
  async function post(user: string): Promise<void> {
    await sql`
      WITH files_posted AS (
        UPDATE files SET posted_at = now() WHERE user_id = ${user}::uuid AND posted_at IS NULL RETURNING id, size_bytes
      ), adjustments_posted AS (
        UPDATE quota_adjustments SET posted_at = now() WHERE user_id = ${user}::uuid AND posted_at IS NULL
        RETURNING id, bytes
      )
      INSERT INTO ledger_entries (user_id, kind, bytes, cause_id, occurred_at)
      SELECT ${user}::uuid, 'charge', size_bytes, id, now() FROM files_posted
      UNION ALL SELECT ${user}::uuid, 'adjustment', bytes, id, now() FROM adjustments_posted
      ON CONFLICT (kind, cause_id) DO NOTHING`.execute(db);
  }

  const settings = { db, store, backend: queues.backend, thumbnailWidths: WIDTHS };
  const audit = (more: Partial<AuditOptions> = {}) => runAudit({ ...settings, ...more });

  return {
    db,
    store,
    queues,
    file,
    picture,
    pendingPicture,
    upload,
    post,
    put,
    keysUnder,
    audit,
    user: () => makeUser(db),
    publish: queues.publish,
    insertJobs: (jobs: Parameters<typeof insertJobs>[1]) => insertJobs(db, jobs),

    /** Some of everything that a busy system has. */
    async liveSystem() {
      const user = await makeUser(db);
      const [kept, picked] = [await file(user), await picture(user)];
      const [pending, deleted] = [await pendingPicture(user), await file(user)];
      await file(user, {
        render_state: 'failed',
        render_error: 'PICTURE_UNREADABLE: no',
        content_type: 'image/png',
      });
      await requestDeletion(db, { fileId: deleted.id, requestId: 'r' });
      await db
        .insertInto('quota_adjustments')
        .values({ user_id: user, bytes: 300, reason: 'increase' })
        .execute();
      await db.updateTable('quotas').set({ adjustment_bytes: 300 }).where('user_id', '=', user).execute();
      const upload_ = await upload(user);
      await queues.publish([{ name: 'post-usage', payload: { v: 1, userId: user } }]);
      return { user, file: kept, picture: picked, pending, deleted, upload: upload_ };
    },

    /** Audits with repairs, and says what was done. */
    async repair(more: Partial<AuditOptions> = {}, orphanAgeMs = 0) {
      const repairs: string[] = [];
      const report = await audit({
        windows: NO_WINDOWS,
        ...more,
        repair: {
          orphanAgeMs,
          onRepair: ({ invariant, remedy }, repaired) =>
            repairs.push(`${invariant} ${remedy?.kind}${repaired ? '' : ' not'}`),
        },
      });
      return { report, repairs };
    },

    async close() {
      await queues.close();
      await store.close();
    },
  };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The violations of each invariant, those without left out. */
export function violations({ findings }: AuditReport): Record<string, number> {
  return Object.fromEntries(
    Object.entries(findings).flatMap(([invariant, finding]) =>
      finding.violations > 0 ? [[invariant, finding.violations]] : [],
    ),
  );
}
