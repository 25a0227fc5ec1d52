import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StartError } from './start-error.ts';

/** Makes the data folder, private to its user, and returns its full path. */
export async function prepareDataFolder(path: string): Promise<string> {
  const folder = resolve(path);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StartError(`The data folder ${folder} cannot be made (DATA_DIR).`, { cause });
  }
  const { uid } = await stat(folder);
  const self = process.getuid?.();
  if (self !== undefined && self !== 0 && uid !== self) {
    throw new StartError(
      `The data folder ${folder} belongs to another user: start as that user, or set another DATA_DIR.`,
    );
  }
  return folder;
}

/**
 * Returns the secret kept in the file, making a random one (256 bits, 43 characters) when there is none. The file is
 * readable by its owner only, and is complete whenever it is there.
 */
export async function readOrMakeSecret(path: string): Promise<string> {
  const part = `${path}.${process.pid}`;
  const existing = await readFile(path, 'utf8').catch(() => '');
  if (existing.trim() !== '') return existing.trim();
  const file = await open(part, 'w', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  // link(2) fails when the file is there: of two starts at once, the first one's secret stays.
  await link(part, path).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  await rm(part);
  return (await readFile(path, 'utf8')).trim();
}
