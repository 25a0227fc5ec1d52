import { readFile, stat } from 'node:fs/promises';

/** The user a server runs as, and how it may name its own data folder. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Postgres refuses to run as root, so root runs it as another user: the owner of the existing data folder, or
 * `nobody` for a new one. An ordinary user runs it as themselves (an empty answer).
 */
export async function chooseRunAs(dataFolder: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return {};
  if (process.platform !== 'linux') {
    throw new Error(
      'As root the embedded Postgres runs on Linux only: start Stowage as an ordinary user, or set DATABASE_URL.',
    );
  }
  const owner = await stat(dataFolder).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return await findNobody();
}

async function findNobody(): Promise<RunAs> {
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === 'nobody') return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'Postgres must not run as root, and there is no user "nobody" to run it as: set DATABASE_URL.',
  );
}
