import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { isRendered } from '../rig/renders.ts';
import type { Rig } from '../rig/rig.ts';
import type { Stowage } from '../rig/stowage.ts';
import { uploadBody } from '../rig/upload-body.ts';

const WAITING = 10_000;

/** One user's 10,000 pictures wait to be rendered when another user uploads one. */
export const fairness: Part = {
  name: 'fairness',
  about: "another user's picture while 10,000 of one user wait, on each queue",
  async run(rig) {
    const lines = [await measure(rig, 'Postgres', false)];
    if (rig.redis !== undefined) lines.push(await measure(rig, 'Redis', true));
    return lines;
  },
};

async function measure(rig: Rig, name: string, redis: boolean): Promise<Line> {
  return await rig.withStowage({ redis }, async (stowage) => {
    const picture = uploadBody(await rig.pictures.small(), 'picture.jpg');
    const other = await stowage.client.newUser();
    await stowage.client.upload(picture);
    await pileUp(stowage);
    await published(stowage);
    await stowage.startWorker('thumbnails');
    // The worker is at it.
    await sleep(1_000);
    const startedAt = performance.now();
    const file = await stowage.client.upload(picture, other);
    while (!(await isRendered(stowage, file))) await sleep(10);
    return {
      what: `another user's picture ready while 10,000 wait, queue on ${name}`,
      unit: 's',
      ours: (performance.now() - startedAt) / 1_000,
      target: { atMost: 2 },
    };
  });
}

/** As if the user had uploaded the first picture so often: rows that share its object, and their jobs. */
async function pileUp({ db }: Stowage): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`
      INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, width, height,
        render_state)
      SELECT gen_random_uuid(), md5(${randomUUID()} || n), extension, user_id, object_key || '-' || n, content_type, 1,
        sha256, width, height, 'pending'
      FROM files, generate_series(1, ${WAITING}) AS n`.execute(trx);
    await sql`
      INSERT INTO outbox (queue, name, payload, priority)
      SELECT 'thumbnails', 'render-thumbnails', jsonb_build_object('v', 1, 'fileId', id), row_number() OVER ()
      FROM files WHERE size_bytes = 1`.execute(trx);
    await sql`
      UPDATE quotas q SET stored_bytes = stored_bytes + ${WAITING}, renders_outstanding = renders_outstanding + ${WAITING}
      FROM (SELECT DISTINCT user_id FROM files) u WHERE u.user_id = q.user_id`.execute(trx);
  });
}

/** Resolves when all jobs are in the queue. */
async function published({ db }: Stowage): Promise<void> {
  const waiting = async () =>
    (
      await db
        .selectFrom('outbox')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('publishes', '=', 0)
        .where('queue', '=', 'thumbnails')
        .executeTakeFirstOrThrow()
    ).count;
  while ((await waiting()) > 0) await sleep(100);
}
