import { AUDIT_SWEEP } from '@stowage/shared/audit/audit-record.ts';
import { emptyQuarantine } from '@stowage/shared/audit/quarantine.ts';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { requeueDeletions } from '@stowage/shared/deletions/requeue-deletions.ts';
import { renderedSet } from '@stowage/shared/images/variant-settings.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { Sweep } from '@stowage/shared/process/sweeps.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { requeuePostings } from '@stowage/shared/quota/requeue-postings.ts';
import { requeueMissingRenders } from '@stowage/shared/renders/requeue-missing-renders.ts';
import { sweepUploads } from '@stowage/shared/uploads/sweep-uploads.ts';
import type { Logger } from 'pino';
import { auditOnSchedule } from './audit-sweep.ts';
import { deleteFilesOfDeletedUsers } from './delete-files-of-deleted-users.ts';
import { expireRows } from './expire-rows.ts';

/** Time between two runs, ms. */
export interface Intervals {
  /** A dead upload is found this soon after its lease. */
  readonly uploads: number;
  /** Files of deleted users that are still to be marked. */
  readonly deletedUsers: number;
  /** Work without a job. */
  readonly requeue: number;
  /** Rows that nobody can use any more, and objects that were in quarantine long enough. */
  readonly expiry: number;
  /** Looking whether everything is as it should be. */
  readonly audit: number;
}

const INTERVALS: Intervals = {
  uploads: 4_000,
  deletedUsers: 10_000,
  requeue: 60_000,
  expiry: 600_000,
  audit: 6 * 3_600_000,
};

/** An audit that was cut short is made soon after. */
const AUDIT_RETRY_MS = 300_000;

export interface PeriodicWorkDeps {
  readonly db: Db;
  /** Connections for the audit, whose statements may take long. */
  readonly auditDb: Db;
  readonly store: ObjectStore;
  readonly backend: QueueBackend;
  readonly logger: Logger;
  /** Publishes the jobs that were just committed. */
  readonly relayKick: () => void;
  /** Widths in px that are rendered ahead. */
  readonly thumbnailWidths: readonly number[];
  readonly intervals?: Partial<Intervals>;
  /** How long after the first removal of a dead upload's objects the second follows, ms. Default 90,000. */
  readonly secondPassAfterMs?: number;
}

/** What the cleanup workers do without being asked, one process at a time. */
export function periodicWork(deps: PeriodicWorkDeps): Sweep[] {
  const { db, store, relayKick, thumbnailWidths } = deps;
  const intervals = { ...INTERVALS, ...deps.intervals };
  const passes = deps.secondPassAfterMs === undefined ? {} : { secondPassAfterMs: deps.secondPassAfterMs };
  const kickIfAny = async (queued: Promise<number>): Promise<number> => {
    const jobs = await queued;
    if (jobs > 0) relayKick();
    return jobs;
  };
  return [
    {
      name: 'sweep-uploads',
      intervalMs: intervals.uploads,
      run: (signal) => sweepUploads({ db, store, ...passes }, signal),
    },
    {
      name: 'delete-files-of-deleted-users',
      intervalMs: intervals.deletedUsers,
      run: (signal) => kickIfAny(deleteFilesOfDeletedUsers(db, signal)),
    },
    {
      name: 'requeue-deletions',
      intervalMs: intervals.requeue,
      run: () => kickIfAny(requeueDeletions(db)),
    },
    {
      name: 'requeue-postings',
      intervalMs: intervals.requeue,
      run: () => kickIfAny(requeuePostings(db)),
    },
    {
      name: 'requeue-renders',
      intervalMs: intervals.requeue,
      run: () => kickIfAny(requeueMissingRenders(db, { renderedSet: renderedSet(thumbnailWidths) })),
    },
    { name: 'expire-rows', intervalMs: intervals.expiry, run: (signal) => expireRows(db, signal) },
    {
      name: 'empty-quarantine',
      intervalMs: intervals.expiry,
      run: (signal) => emptyQuarantine({ store }, signal),
    },
    {
      name: AUDIT_SWEEP,
      intervalMs: intervals.audit,
      run: (signal) =>
        auditOnSchedule({ ...deps, intervalMs: intervals.audit, retryAfterMs: AUDIT_RETRY_MS }, signal),
    },
  ];
}
