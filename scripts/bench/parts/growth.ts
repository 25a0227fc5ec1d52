import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { alternate } from '../alternate.ts';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import type { Rig } from '../rig/rig.ts';
import type { Stowage } from '../rig/stowage.ts';
import { uploadBody } from '../rig/upload-body.ts';
import { percentile } from '../statistics.ts';

const ROWS = 1_000_000;
const JOBS = 100_000;
const ROUNDS = 5;

/** Uploads and reads of one at a time with a large database and a long queue, against empty ones. */
export const growth: Part = {
  name: 'growth',
  about: 'uploads and reads with 1,000,000 file rows, and with 100,000 jobs waiting, against empty',
  async run(rig) {
    return await rig.withStowage({}, async (empty) => [
      ...(await rig.withStowage({}, async (full) => {
        await fillFiles(full);
        return await compare(rig, 'with 1,000,000 files', full, empty);
      })),
      ...(await rig.withStowage({}, async (full) => {
        await fillQueue(full);
        return await compare(rig, 'with 100,000 jobs waiting', full, empty);
      })),
    ]);
  },
};

async function compare(rig: Rig, name: string, full: Stowage, empty: Stowage): Promise<Line[]> {
  const picture = await rig.pictures.tiny();
  const upload = (stowage: Stowage) => () => uploadTime(stowage, picture);
  const read = (stowage: Stowage) => () => readTime(stowage, picture);
  const uploads = await alternate(ROUNDS, { full: upload(full), empty: upload(empty) });
  const reads = await alternate(ROUNDS, { full: read(full), empty: read(empty) });
  const line = (what: string, times: { full: number; empty: number }): Line => ({
    what: `${what} ${name}, p50`,
    unit: 'ms',
    ours: times.full,
    counterpart: { name: 'empty', value: times.empty },
    target: { atMost: 1.2 },
  });
  return [line('upload', uploads), line('read', reads)];
}

async function uploadTime({ url, client }: Stowage, picture: Buffer): Promise<number> {
  const { contentType, body } = uploadBody(picture, 'picture.jpg');
  const headers = { ...client.user.headers, 'content-type': contentType };
  const result = await load({ url: `${url}/`, method: 'POST', connections: 1, amount: 60, headers, body });
  return percentile(result.latenciesMs, 50);
}

/** Each file is read for the first time: from the database and the object store. */
async function readTime({ url, client }: Stowage, picture: Buffer): Promise<number> {
  const body = uploadBody(picture, 'picture.jpg');
  const paths: string[] = [];
  for (let count = 0; count < 60; count += 1) paths.push(`/${await client.upload(body)}`);
  const result = await load({ url, connections: 1, amount: paths.length, pathsByConnection: [paths] });
  return percentile(result.latenciesMs, 50);
}

/** A tenth of the files belongs to the user who uploads. */
async function fillFiles({ db, client }: Stowage): Promise<void> {
  await sql`
    INSERT INTO users (email, username) SELECT 'u' || n || '@example.com', 'u' || n FROM generate_series(1, 9) n`.execute(
    db,
  );
  await sql`
    INSERT INTO files (id, stem, extension, user_id, object_key, content_type, size_bytes, sha256, posted_at, created_at,
      render_state, rendered_set)
    SELECT uuidv7(make_interval(secs => -n)), md5('stem' || n), 'jpg', ids[1 + n % 10], 'originals/' || md5('key' || n) || '/0',
      'image/jpeg', 1000, repeat('0', 64), now(), now() - make_interval(secs => n), 'none', NULL
    FROM generate_series(1, ${ROWS}) AS n, (SELECT array_agg(id ORDER BY id = ${client.user.id}::uuid DESC) AS ids FROM users) u`.execute(
    db,
  );
  await sql`
    UPDATE quotas SET stored_bytes = ${(ROWS / 10) * 1000} WHERE user_id = ${client.user.id}::uuid`.execute(
    db,
  );
  await sql`VACUUM (ANALYZE) files`.execute(db);
}

/** Jobs that nobody works on: there is no worker. */
async function fillQueue({ db }: Stowage): Promise<void> {
  await sql`
    INSERT INTO outbox (queue, name, payload, priority)
    SELECT 'thumbnails', 'render-thumbnails', jsonb_build_object('v', 1, 'fileId', gen_random_uuid()), n
    FROM generate_series(1, ${JOBS}) AS n`.execute(db);
  const unpublished = async () =>
    (await sql<{ left: boolean }>`SELECT EXISTS (SELECT FROM outbox WHERE publishes = 0) AS left`.execute(db))
      .rows[0]?.left;
  while (await unpublished()) await sleep(200);
}
