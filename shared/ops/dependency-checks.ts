import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { QueueBackend } from '../queues/queue-backend.ts';
import type { ReadinessCheck } from './readiness.ts';

export interface Dependencies {
  readonly db: Db;
  readonly backend?: QueueBackend;
  readonly objectStore?: ObjectStore;
}

/** The readiness checks of the services that a process uses. */
export function dependencyChecks({ db, backend, objectStore }: Dependencies): ReadinessCheck[] {
  const checks: ReadinessCheck[] = [{ name: 'database', check: () => sql`SELECT 1`.execute(db) }];
  if (backend) checks.push({ name: 'queue', check: (signal) => backend.check(signal) });
  if (objectStore) checks.push({ name: 'object_store', check: (signal) => objectStore.check(signal) });
  return checks;
}
