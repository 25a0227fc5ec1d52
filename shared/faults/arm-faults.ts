import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type Environment } from '../config/config.ts';
import type { JobTimings } from '../queues/open-job-worker.ts';
import { obeyFaultsIn } from './fault-points.ts';

/** All in ms. What is missing stays as it is in production. */
export interface TestTimings {
  readonly uploads?: {
    readonly leaseMs?: number;
    readonly leaseMarginMs?: number;
    readonly leaseTickMs?: number;
    readonly postingDelayMs?: number;
  };
  readonly relay?: {
    readonly pollMs?: number;
    readonly claimMs?: number;
    readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
  };
  readonly jobs?: JobTimings;
  readonly cleanup?: {
    readonly secondPassAfterMs?: number;
    readonly intervals?: {
      readonly uploads?: number;
      readonly deletedUsers?: number;
      readonly requeue?: number;
    };
  };
}

/**
 * Arms the fault points of this process when a test asks for it by `STOWAGE_FAULTS`, and gives the timings that go
 * with it. Without that variable it does nothing.
 * @throws {ConfigError} in production
 */
export function armFaults(env: Environment): TestTimings {
  const folder = env.STOWAGE_FAULTS;
  if (folder === undefined || folder === '') return {};
  if (env.NODE_ENV === 'production')
    throw new ConfigError(['STOWAGE_FAULTS makes processes fail on purpose: it is not for production']);
  obeyFaultsIn(folder);
  // The test that starts this process wrote it.
  return JSON.parse(readFileSync(join(folder, 'timings.json'), 'utf8')) as TestTimings;
}
