import type { Db } from '@stowage/shared/database/open-database.ts';
import type { FilesTable } from '@stowage/shared/database/schema.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { Selectable } from 'kysely';
import { LRUCache } from 'lru-cache';

const COLUMNS = [
  'id',
  'stem',
  'extension',
  'object_key',
  'content_type',
  'size_bytes',
  'sha256',
  'original_name',
  'width',
  'height',
  'created_at',
  'render_state',
  'render_error',
] as const;

/** The row of a stored file, as reading needs it. */
export type StoredFile = Readonly<Pick<Selectable<FilesTable>, (typeof COLUMNS)[number]>>;

/** Well below every deadline, so that both questions together stay within it. */
const AT_ONCE_MS = 500;

export interface FileLookUp {
  /** The row by its stem, at most `freshMs` old; undefined when there is none or it is being deleted. */
  find(stem: string): Promise<StoredFile | undefined>;
  /** What `find` last heard from Postgres, at most `staleMs` ago: for the time in which Postgres does not answer. */
  lastKnown(stem: string): StoredFile | undefined;
  /** Drops what is known, because the file was deleted here: also when Postgres goes away now, it is not served again. */
  forget(stem: string): void;
}

export interface FileLookUpOptions {
  readonly db: Db;
  readonly freshMs?: number;
  readonly staleMs?: number;
  readonly maxEntries?: number;
  readonly now?: () => number;
}

interface Heard {
  readonly at: number;
  readonly file: StoredFile | undefined;
}

interface Asked {
  readonly at: number;
  readonly answer: Promise<StoredFile | undefined>;
  heard: Heard | undefined;
}

/**
 * Looks up files by their stems, with one query for all who ask within `freshMs`. An answer is as old as its
 * question: who asks later than that never joins, so that a deletion is known everywhere `freshMs` after it.
 */
export function createFileLookUp(options: FileLookUpOptions): FileLookUp {
  const {
    db,
    freshMs = 250,
    staleMs = 5 * 60_000,
    maxEntries = 50_000,
    now = () => performance.now(),
  } = options;
  const known = new LRUCache<string, Asked>({ max: maxEntries });

  function ask(stem: string, heard: Heard | undefined): Promise<StoredFile | undefined> {
    const at = now();
    const answer = query(db, stem).catch((error: unknown) => {
      if (!brokeAtOnce(error, now() - at)) throw error;
      return query(db, stem);
    });
    const asked: Asked = { at, answer, heard };
    known.set(stem, asked);
    answer.then(
      (file) => {
        asked.heard = { at, file };
      },
      () => undefined,
    );
    return answer;
  }

  return {
    find(stem) {
      const asked = known.get(stem);
      if (asked !== undefined && now() - asked.at < freshMs) return asked.answer;
      return ask(stem, asked?.heard);
    },
    lastKnown(stem) {
      const heard = known.peek(stem)?.heard;
      return heard !== undefined && now() - heard.at <= staleMs ? heard.file : undefined;
    },
    forget: (stem) => void known.delete(stem),
  };
}

/**
 * Whether asking again may help: a connection that broke does not mean that Postgres is away, and what it said before
 * is not to be believed yet. A server that hangs has cost enough time.
 */
function brokeAtOnce(error: unknown, afterMs: number): boolean {
  return error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE' && afterMs < AT_ONCE_MS;
}

function query(db: Db, stem: string): Promise<StoredFile | undefined> {
  return db
    .selectFrom('files')
    .select(COLUMNS)
    .where('stem', '=', stem)
    .where('state', '=', 'stored')
    .executeTakeFirst();
}
