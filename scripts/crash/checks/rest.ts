import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { World } from '../world.ts';

const PAUSE_MS = 500;

/** What has to come to an end before everything is at rest, and what must not be at all. */
const OPEN = {
  'uploads that are not swept': sql`SELECT FROM uploads`,
  'files that are being deleted': sql`SELECT FROM files WHERE state = 'deleting'`,
  'pictures that wait for their variants': sql`SELECT FROM files WHERE render_state = 'pending'`,
  'charges to be posted': sql`SELECT FROM files WHERE posted_at IS NULL`,
  'adjustments to be posted': sql`SELECT FROM quota_adjustments WHERE posted_at IS NULL`,
  'jobs in the outbox': sql`SELECT FROM outbox`,
  'users with reservations': sql`SELECT FROM quotas WHERE reserved_bytes <> 0`,
};

/** Waits until nothing is on its way; tells what still is when the time is over. */
export async function untilAtRest({ db }: World, until: number): Promise<string[]> {
  let open: string[] = ['everything'];
  while (Date.now() < until) {
    open = await whatIsOpen(db).catch(() => ['the database']);
    if (open.length === 0) return [];
    await sleep(PAUSE_MS);
  }
  return open;
}

async function whatIsOpen(db: World['db']): Promise<string[]> {
  const open: string[] = [];
  for (const [what, rows] of Object.entries(OPEN)) {
    const counted = await sql<{ count: number }>`SELECT count(*)::int AS count FROM (${rows}) AS x`.execute(
      db,
    );
    const count = counted.rows[0]?.count ?? 0;
    if (count > 0) open.push(`${count} ${what}`);
  }
  return open;
}
