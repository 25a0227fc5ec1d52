import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { World } from '../world.ts';

const run = promisify(execFile);

/** At the very end: the audit as anybody may run it, from outside, with all bytes read again. */
export async function runAuditCommand({ environment, tally }: World): Promise<void> {
  try {
    const { stdout } = await run(process.execPath, ['scripts/audit.ts', '--deep'], { env: environment });
    tally.say(`npm run audit -- --deep\n\n${stdout.trimEnd()}\n`);
  } catch (error) {
    // execFile's error has what the program printed.
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    tally.violation(`npm run audit -- --deep failed: ${error}\n${output}`);
  }
}
