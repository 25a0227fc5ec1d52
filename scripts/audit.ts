import { countUnrepaired, type Violation } from '@stowage/shared/audit/findings.ts';
import { runAudit } from '@stowage/shared/audit/run-audit.ts';
import { ConfigError } from '@stowage/shared/config/config.ts';
import { withDeadline } from '@stowage/shared/queues/with-deadline.ts';
import { type Arguments, parseArguments, USAGE, UsageError } from './audit/arguments.ts';
import { type AuditedServices, openAuditedServices } from './audit/audited-services.ts';
import { describeReport } from './audit/print-report.ts';

const EXIT_VIOLATED = 1;
const EXIT_NOT_CHECKED = 2;
const EXIT_USAGE = 64;
const EXIT_BAD_CONFIGURATION = 78;

const HOUR_MS = 3_600_000;
/** How long the services may take to say that they are there. */
const CHECK_MS = 10_000;

async function main(): Promise<number> {
  const args = parseArguments(process.argv.slice(2));
  if (args.help) {
    console.log(USAGE);
    return 0;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const services = await openAuditedServices(process.env);
  try {
    return await audit(services, args, stop.signal);
  } finally {
    await services.close();
  }
}

async function audit(services: AuditedServices, args: Arguments, signal: AbortSignal): Promise<number> {
  const { db, store, backend, thumbnailWidths } = services;
  const { deep, json } = args;
  // A wrong address must not look like lost jobs, or like objects without rows.
  const deadline = AbortSignal.timeout(CHECK_MS);
  await Promise.all([withDeadline(backend.queue('mail').waitUntilReady(), deadline), store.check(deadline)]);
  const orphanAgeMs = args.orphanAgeHours * HOUR_MS;
  const report = await runAudit({
    db,
    store,
    backend,
    thumbnailWidths,
    deep,
    signal,
    ...(args.repair && { repair: { orphanAgeMs, onRepair: logRepair } }),
  });
  console.log(json ? JSON.stringify(report, null, 2) : describeReport(report, { repaired: args.repair }));
  return countUnrepaired(report.findings) === 0 ? 0 : EXIT_VIOLATED;
}

/** On the error stream: the result alone is what other programs read. */
function logRepair({ invariant, subject, fault, remedy }: Violation, repaired: boolean): void {
  const what = `${invariant} ${subject}: ${fault}`;
  console.error(
    `${new Date().toISOString()} ${repaired ? 'repaired' : 'left as it is'} (${remedy?.kind}): ${what}`,
  );
}

try {
  process.exitCode = await main();
} catch (error) {
  process.exitCode = report(error);
}

/** Says what went wrong, and returns the exit status for it. */
function report(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`);
    return EXIT_USAGE;
  }
  if (error instanceof ConfigError) {
    console.error(error.message);
    return EXIT_BAD_CONFIGURATION;
  }
  console.error(`It could not be checked: ${describe(error)}`);
  return EXIT_NOT_CHECKED;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
