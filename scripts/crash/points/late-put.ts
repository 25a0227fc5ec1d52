import { sql } from 'kysely';
import type { HeldWrite } from '../proxies/s3-proxy.ts';
import { newAttempt, type UploadAttempt } from '../users/oracle.ts';
import type { PointDeps, Scenario } from './scenario.ts';
import { eventually, untilAcknowledged } from './steps.ts';

/** Small enough to be one PUT. */
const SIZE = 4_000;

/**
 * An API process dies with a PUT on its way, which arrives at the object store only after a sweep has removed what
 * the upload had left. The second removal must find it.
 */
export const LATE_PUT: Scenario = {
  label: 'a late PUT after the sweep',
  async run(deps) {
    const { world, user, random } = deps;
    const holding = world.s3Proxy.holdNextWrite();
    const content = { ...user.contents.draw(random, SIZE), kind: 'text' as const, sizeBytes: SIZE };
    const attempt = newAttempt(user.newKey(random), [content]);
    user.tally.count('uploads', 'tried');
    const sending = user.tryUpload(attempt);
    const held = await holding;
    const sender = world.fleet.of('api').find(({ proxies }) => proxies.s3.owns(held.remotePort));
    await sender?.process.kill();
    await sending;
    return { later: sender === undefined ? Promise.resolve(false) : arriveLate(deps, attempt, held) };
  },
};

async function arriveLate(deps: PointDeps, attempt: UploadAttempt, held: HeldWrite): Promise<boolean> {
  const { world } = deps;
  const uploadId = /originals\/([0-9a-f-]{36})\//.exec(held.path)?.[1] ?? '';
  const swept = await eventually(() => sweptUpload(deps, uploadId));
  const status = await held.release();
  const key = `originals/${uploadId}/0`;
  const arrived = await world.store.head(key);
  const hit = swept !== undefined && status === 200 && arrived === SIZE;
  if (hit) {
    const gone = await eventually(async () =>
      (await world.store.head(key)) === undefined ? true : undefined,
    );
    if (gone === undefined) world.tally.violation('an object that arrived after the sweep was not removed');
  } else {
    world.tally.say(`the late PUT did not come off: swept ${swept !== undefined}, status ${status}`);
  }
  await untilAcknowledged(deps, attempt);
  return hit;
}

/** The upload between the two removals of its objects. */
async function sweptUpload({ world }: PointDeps, id: string): Promise<true | undefined> {
  const { rows } = await sql`
    SELECT FROM uploads WHERE id = ${id}::uuid AND state = 'sweeping' AND swept_at IS NOT NULL`.execute(
    world.db,
  );
  return rows.length > 0 ? true : undefined;
}
