import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { POSTGRES_USER } from '../start/postgres/cluster.ts';

/** Where the port stands in `postmaster.pid`, counted from 0. */
const PORT_LINE = 3;

/**
 * The database that a command for operators works on: DATABASE_URL, or the embedded one of the data folder while
 * `npm start` runs. Undefined when there is neither.
 */
export async function operatedDatabaseUrl(settings: {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
}): Promise<string | undefined> {
  if (settings.databaseUrl !== undefined) return settings.databaseUrl;
  const folder = join(settings.dataDir, 'postgres');
  try {
    const pidFile = await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8');
    const password = (await readFile(join(folder, 'password'), 'utf8')).trim();
    const port = Number(pidFile.split('\n')[PORT_LINE]);
    return port > 0 ? `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/stowage` : undefined;
  } catch {
    return undefined;
  }
}
