import { join } from 'node:path';
import { loadConfig } from '@stowage/shared/config/config.ts';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { announcement } from './announcement.ts';
import { type BackOffOptions, RESTART_BACK_OFF } from './back-off.ts';
import { type Child, startChild } from './child.ts';
import { apiEnvironment, type ChildrenSettings, workerEnvironment } from './children-environment.ts';
import { prepareDataFolder, readOrMakeSecret } from './data-folder.ts';
import { openInstanceFile } from './instance-file.ts';
import { endLeftoverChildren } from './leftover-children.ts';
import type { LogOutput } from './log-output.ts';
import { EMBEDDED_ADMIN_EMAIL, type ProcessDefinition, planStart, type StartPlan } from './plan.ts';
import { choosePorts, type Ports } from './ports.ts';
import { prepareServices } from './prepare-services.ts';
import type { ProcessIdentity } from './processes.ts';
import { reachableHost, untilReady } from './readiness.ts';
import { StartError } from './start-error.ts';
import { STOP_TIMINGS, type StopTimings, stopChildren } from './stop-children.ts';
import type { StopSignals } from './stop-signals.ts';
import { openSupervisedPostgres } from './supervised-postgres.ts';

export interface SupervisorOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The first one is the API. */
  readonly processes: readonly ProcessDefinition[];
  readonly output: LogOutput;
  /** True when a person sees what is printed. */
  readonly terminal: boolean;
  readonly signals: StopSignals;
  readonly print: (text: string) => void;
  readonly backOff?: BackOffOptions;
  readonly stopTimings?: StopTimings;
}

/** A process that ends this often before all are ready will not come up by trying again. */
const FAULTS_BEFORE_GIVING_UP = 4;

/** Fifteen seconds are promised; the last one is for the operating system. */
const ALL_STOPPED_AFTER_MS = 14_000;
const LEAST_DATABASE_GRACE_MS = 1_000;

/**
 * Runs all of Stowage until it is told to stop, and then ends all of it in order: requests, workers, database.
 * @throws {StartError | ConfigError} when it cannot start, after ending what had started
 */
export async function supervise(options: SupervisorOptions): Promise<void> {
  const { env, signals } = options;
  const plan = planStart(env);
  const logger = options.output.createLogger('supervisor', plan.settings.logLevel);
  const releases: (() => Promise<unknown>)[] = [];
  try {
    await startAll(options, plan, logger, releases);
    await aborted(signals.stop);
  } catch (error) {
    if (!signals.stop.aborted) throw error;
  } finally {
    if (signals.stop.aborted) logger.info('stopping');
    for (const release of releases.reverse()) {
      await release().catch((err: unknown) => logger.error({ err }, 'release failed'));
    }
    logger.info('stopped');
  }
}

async function startAll(
  options: SupervisorOptions,
  plan: StartPlan,
  logger: Logger,
  releases: (() => Promise<unknown>)[],
): Promise<void> {
  const { env, signals } = options;
  const { settings } = plan;
  const backOff = options.backOff ?? RESTART_BACK_OFF;

  const dataFolder = await prepareDataFolder(settings.dataDir);
  const instance = await openInstanceFile(dataFolder);
  releases.push(() => instance.close());
  await endLeftoverChildren(instance.leftover, logger);
  const ports = await choosePorts({ ...settings, count: options.processes.length });
  signals.stop.throwIfAborted();

  const databaseUrl = settings.databaseUrl ?? (await embedPostgres(options, dataFolder, logger, releases));
  signals.stop.throwIfAborted();
  const admin = await chooseAdmin(plan, dataFolder);
  const children: ChildrenSettings = {
    env,
    dataFolder,
    databaseUrl,
    secretKey: settings.secretKey ?? (await readOrMakeSecret(join(dataFolder, 'secret-key'))),
    admin,
    ports,
  };
  const migrated = await prepareServices(loadConfig(workerEnvironment(children, 0)));
  if (migrated.length > 0) logger.info({ migrated }, 'tables brought up to date');
  signals.stop.throwIfAborted();

  const running = new Map<string, ProcessIdentity>();
  const started = options.processes.map((definition, index) =>
    startChild({
      ...definition,
      env: index === 0 ? apiEnvironment(children) : workerEnvironment(children, index),
      logger,
      output: options.output,
      backOff,
      onStart: (identity) => {
        running.set(identity.name, identity);
        instance
          .record([...running.values()])
          .catch((err: unknown) => logger.warn({ err }, 'the processes could not be written down'));
      },
    }),
  );
  const [api, ...workers] = started;
  releases.push(() => stopChildren(api, workers, signals.hurry, options.stopTimings ?? STOP_TIMINGS, logger));

  await allReady(started, ports, reachableHost(settings.opsHost), signals.stop);
  options.print(
    announcement({
      host: reachableHost(settings.host),
      port: ports.port,
      opsHost: reachableHost(settings.opsHost),
      opsPort: ports.opsPorts[0] ?? settings.opsPort,
      admin: admin ?? (settings.adminEmail === undefined ? undefined : { email: settings.adminEmail }),
      dataFolder,
      terminal: options.terminal,
    }),
  );
}

async function embedPostgres(
  options: SupervisorOptions,
  dataFolder: string,
  logger: Logger,
  releases: (() => Promise<unknown>)[],
): Promise<string> {
  const { signals, backOff = RESTART_BACK_OFF } = options;
  const postgres = await openSupervisedPostgres(join(dataFolder, 'postgres'), logger, backOff);
  releases.push(() => {
    const left = signals.stop.aborted ? ALL_STOPPED_AFTER_MS - signals.elapsedMs() : ALL_STOPPED_AFTER_MS;
    return postgres.close(Math.max(left, LEAST_DATABASE_GRACE_MS));
  });
  return postgres.url;
}

async function chooseAdmin(plan: StartPlan, dataFolder: string) {
  if (!plan.makesAdministrator) return undefined;
  const passwordFile = join(dataFolder, 'admin-password');
  return { email: EMBEDDED_ADMIN_EMAIL, password: await readOrMakeSecret(passwordFile), passwordFile };
}

async function allReady(
  children: readonly Child[],
  ports: Ports,
  host: string,
  stop: AbortSignal,
): Promise<void> {
  const given = new AbortController();
  const watch = setInterval(() => {
    const bad = children.find((child) => child.faults >= FAULTS_BEFORE_GIVING_UP);
    if (bad !== undefined) {
      given.abort(
        new StartError(`${bad.name} does not start (${bad.lastExit}); its last lines above say why.`),
      );
    }
  }, 50);
  try {
    const signal = AbortSignal.any([stop, given.signal]);
    await Promise.all(
      ports.opsPorts.map((port) => untilReady(`http://${host}:${port}/health/ready`, signal)),
    );
  } finally {
    clearInterval(watch);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
