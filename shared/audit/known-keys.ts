import { sql } from 'kysely';
import type { Db } from '../database/open-database.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const ORIGINAL = new RegExp(`^originals/(${UUID})/`);
const VARIANT = new RegExp(`^variants/(${UUID})/`);

/** The prefixes under which all objects are that rows know of. */
export const OBJECT_PREFIXES = ['originals/', 'variants/'] as const;
export type ObjectPrefix = (typeof OBJECT_PREFIXES)[number];

/**
 * Which of the keys no row knows of, in one statement, so as of one moment. Also known are those that an upload, a
 * render or a deletion has in hand.
 */
export async function unknownKeys(db: Db, prefix: ObjectPrefix, keys: readonly string[]): Promise<string[]> {
  const pattern = prefix === 'originals/' ? ORIGINAL : VARIANT;
  const ids = keys.map((key) => pattern.exec(key)?.[1] ?? null);
  const known =
    prefix === 'originals/'
      ? sql`EXISTS (SELECT FROM files f WHERE f.object_key = k.key)
          OR EXISTS (SELECT FROM uploads u WHERE u.id = k.id)`
      : sql`EXISTS (SELECT FROM variants v WHERE v.file_id = k.id AND v.object_key = k.key)
          OR EXISTS (SELECT FROM files f
            WHERE f.id = k.id AND (f.state = 'deleting' OR f.render_state = 'pending'))`;
  const { rows } = await sql<{ key: string }>`
    SELECT k.key FROM unnest(${keys}::text[], ${ids}::uuid[]) AS k (key, id) WHERE NOT (${known})`.execute(
    db,
  );
  return rows.map((row) => row.key);
}

/** The file whose variant has this key, when it has the form of one. */
export function fileOfVariant(key: string): string | undefined {
  return VARIANT.exec(key)?.[1];
}
