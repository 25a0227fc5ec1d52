import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Beside PATH: where Debian keeps servers, and where `.ci/run` builds the S3 server. */
const FURTHER_FOLDERS = ['/usr/sbin', join(homedir(), '.cache/stowage-ci/bin'), join(homedir(), 'go/bin')];

/** The full path of an installed program, or undefined. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), ...FURTHER_FOLDERS]) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
