import type { Db } from '@stowage/shared/database/open-database.ts';
import { requeueDeletions } from '@stowage/shared/deletions/requeue-deletions.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { Sweep } from '@stowage/shared/process/sweeps.ts';
import { requeuePostings } from '@stowage/shared/quota/requeue-postings.ts';
import { requeueMissingRenders } from '@stowage/shared/renders/requeue-missing-renders.ts';
import { sweepUploads } from '@stowage/shared/uploads/sweep-uploads.ts';
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
  /** Rows that nobody can use any more. */
  readonly expiry: number;
}

export const INTERVALS: Intervals = {
  uploads: 4_000,
  deletedUsers: 10_000,
  requeue: 60_000,
  expiry: 600_000,
};

export interface PeriodicWorkDeps {
  readonly db: Db;
  readonly store: ObjectStore;
  /** Publishes the jobs that were just committed. */
  readonly relayKick: () => void;
  /** The set of variants that the configuration asks for, as `renderedSet` gives it. */
  readonly renderedSet: string;
  readonly intervals?: Partial<Intervals>;
  /** How long after the first removal of a dead upload's objects the second follows, ms. Default 90,000. */
  readonly secondPassAfterMs?: number;
}

/** What the cleanup workers do without being asked, one process at a time. */
export function periodicWork(deps: PeriodicWorkDeps): Sweep[] {
  const { db, store, relayKick, renderedSet } = deps;
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
      run: () => kickIfAny(requeueMissingRenders(db, { renderedSet })),
    },
    { name: 'expire-rows', intervalMs: intervals.expiry, run: (signal) => expireRows(db, signal) },
  ];
}
