import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Tally } from '../tally.ts';
import type { World } from '../world.ts';

const EVERY_MS = 100;

export interface Sampler {
  stop(): Promise<void>;
}

/**
 * Watches that no user is ever above the limit, in two ways: it looks at all quotas many times a second, and it has
 * Postgres itself write down every change that takes a user above the limit, also one that is gone a moment later.
 */
export async function startSampler({ db, tally }: World): Promise<Sampler> {
  await sql`
    CREATE TABLE IF NOT EXISTS crash_above_limit (at timestamptz DEFAULT clock_timestamp(), quota jsonb)`.execute(
    db,
  );
  await sql`
    CREATE OR REPLACE FUNCTION crash_note_above_limit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO crash_above_limit (quota) VALUES (to_jsonb(NEW)); RETURN NULL; END $$`.execute(db);
  await sql`
    CREATE OR REPLACE TRIGGER crash_above_limit AFTER UPDATE ON quotas FOR EACH ROW
    WHEN (NEW.stored_bytes + greatest(NEW.adjustment_bytes, 0) + NEW.reserved_bytes > NEW.max_bytes
      AND NEW.max_bytes = OLD.max_bytes)
    EXECUTE FUNCTION crash_note_above_limit()`.execute(db);

  const stop = new AbortController();
  const running = (async () => {
    while (!stop.signal.aborted) {
      await look(db, tally).catch(() =>
        tally.count('quota samples', 'without an answer (Postgres was away)'),
      );
      await sleep(EVERY_MS);
    }
  })();
  return {
    async stop() {
      stop.abort();
      await running;
    },
  };
}

async function look(db: World['db'], tally: Tally): Promise<void> {
  const { rows } = await sql<{ user_id: string; used: number; max_bytes: number }>`
    SELECT user_id, stored_bytes + greatest(adjustment_bytes, 0) + reserved_bytes AS used, max_bytes
    FROM quotas`.execute(db);
  tally.count('quota samples', 'taken', rows.length);
  for (const { user_id, used, max_bytes } of rows) {
    if (used > max_bytes) tally.violation(`user ${user_id} is above the limit: ${used} of ${max_bytes}`);
    // Full to within one small file.
    else if (used > max_bytes * 0.9) tally.count('quota samples', 'within 10 % of the limit');
  }
}

/** What the trigger has written down since it was asked last. */
export async function checkAboveLimit({ db, tally }: World): Promise<void> {
  const { rows } = await sql<{ quota: unknown }>`DELETE FROM crash_above_limit RETURNING quota`.execute(db);
  for (const { quota } of rows) tally.violation(`a user was above the limit: ${JSON.stringify(quota)}`);
}
