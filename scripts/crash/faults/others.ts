import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessKind } from '../fleet/environment.ts';
import { S3_FAULTS, type S3Rule } from '../proxies/s3-proxy.ts';
import { S3_WRITES, type S3Operation } from '../proxies/s3-request.ts';
import type { Random } from '../random.ts';
import { TIMINGS } from '../timings.ts';
import type { World } from '../world.ts';
import type { Fault } from './fault.ts';

const MULTIPART_WITHIN_MS = 12_000;

export const FLUSH: readonly Fault[] = [
  {
    kind: 'flush',
    label: 'FLUSHALL',
    async run({ redis }) {
      // Away because of another fault: nothing to flush.
      return await redis.flushAll().then(
        () => true,
        () => false,
      );
    },
  },
];

/** S3 answers, for a while: to all operations, and to the last one of a large upload in particular. */
export const S3: readonly Fault[] = S3_FAULTS.flatMap((fault) => [
  s3Fault(`S3: ${fault}`, { fault, probability: 0.35 }),
  s3Fault(`S3: ${fault} to CompleteMultipartUpload`, {
    fault,
    probability: 0.7,
    operations: ['complete-multipart'] satisfies S3Operation[],
  }),
]);

function s3Fault(label: string, rule: S3Rule): Fault {
  return {
    kind: 's3',
    label,
    async run({ s3Proxy }, random) {
      s3Proxy.setRules([rule]);
      await sleep(random.int(1_000, 5_000));
      // Large uploads are few: the first one to come is what this one is for.
      const until = Date.now() + (rule.operations === undefined ? 0 : MULTIPART_WITHIN_MS);
      while (Date.now() < until && !s3Proxy.hasFailed(rule)) await sleep(100);
      s3Proxy.setRules([]);
      return true;
    },
  };
}

/** The disk of the S3 server is full: really, or, where nothing can be mounted, by the answers that it would give. */
export const DISK: readonly Fault[] = [
  {
    kind: 'disk',
    label: 'disk full in the object store',
    async run({ disk, s3Proxy }, random) {
      const lasts = random.int(1_500, 5_000);
      if (disk.canBeFull) {
        // At times nothing fits any more, at times small things still do and large ones break off.
        disk.fill(random.pick([0, 0, 64 * 1024, 3 * 1024 * 1024]));
        await sleep(lasts);
        disk.empty();
      } else {
        s3Proxy.setRules([{ fault: '507', probability: 1, operations: S3_WRITES }]);
        await sleep(lasts);
        s3Proxy.setRules([]);
      }
      return true;
    },
  },
];

/** Past the lease of an upload, or of a job; and past the second removal of its objects too. */
const { leaseMs } = TIMINGS.uploads;
const { lockDurationMs } = TIMINGS.jobs;
const pastSecondPass = leaseMs + TIMINGS.cleanup.secondPassAfterMs;

export const PAUSES: readonly Fault[] = [
  pause('api', 'its lease', leaseMs),
  pause('api', 'the second removal', pastSecondPass),
  pause('thumbnails', 'its lock', lockDurationMs),
  pause('thumbnails', 'the second removal', pastSecondPass),
  pause('cleanup', 'its lock', lockDurationMs),
  pause('quota-accounting', 'its lock', lockDurationMs),
];

function pause(kind: ProcessKind, past: string, ms: number): Fault {
  return {
    kind: 'pause',
    lastsMs: ms + 3_500,
    label: `SIGSTOP ${kind} past ${past}`,
    async run({ fleet }: World, random: Random) {
      const whole = fleet.of(kind).filter(({ process }) => process.isWhole);
      if (whole.length === 0) return false;
      const { process } = random.pick(whole);
      process.pause();
      await sleep(ms + random.int(1_000, 3_500));
      process.wake();
      return true;
    },
  };
}
