import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCrashOptions } from './crash/options.ts';
import { Random } from './crash/random.ts';
import { report } from './crash/report.ts';
import { runRounds } from './crash/run.ts';
import { Tally } from './crash/tally.ts';
import { closeConnections } from './crash/users/http.ts';
import { openWorld, type World } from './crash/world.ts';

/**
 * Shows that nothing acknowledged is lost and nothing is miscounted while processes and services fail: real processes,
 * real services, random faults by a seed. Exits with 1 when anything was not as it must be.
 */
const options = parseCrashOptions(process.argv.slice(2));
const startedAt = performance.now();
const tally = new Tally((line) => console.log(line));
const random = new Random(options.seed);
const folder = mkdtempSync(join(tmpdir(), 'stowage-crash-'));
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

tally.say(`seed ${options.seed}, in ${folder}`);
let world: World | undefined;
try {
  world = await openWorld({ folder, tally, random: random.fork('world') });
  tally.say(`everything runs; the disk can ${world.disk.canBeFull ? 'really' : 'only seem to'} be full`);
  await runRounds({ options, world, random, tally, signal: interrupted.signal });
} catch (error) {
  tally.violation(`the run broke off: ${error instanceof Error ? error.stack : error}`);
} finally {
  await world?.close();
  await closeConnections();
}
if (interrupted.signal.aborted) tally.violation('the run was interrupted');
console.log(report(tally, (performance.now() - startedAt) / 1_000));
const failed = tally.violations.length > 0;
if (failed || options.keep) console.log(`\nLogs, database and objects are in ${folder}`);
else rmSync(folder, { recursive: true, force: true });
console.log(`\nseed ${options.seed}: ${failed ? 'FAILED' : 'passed'}`);
process.exit(failed ? 1 : 0);
