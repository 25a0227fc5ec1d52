import closeWithGrace from 'close-with-grace';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { armFaults, type TestTimings } from '../faults/arm-faults.ts';
import { createLogger, type Logger } from '../logging/create-logger.ts';

export interface RunningProcess {
  readonly config: Config;
  readonly logger: Logger;
  /** Empty but in a process that the crash suite has started. */
  readonly timings: TestTimings;
  /** Aborted when the process is told to stop, before anything is released. */
  readonly stopping: AbortSignal;
  /**
   * Registers a release. At the end releases run once each, last registered first; one that fails is logged and
   * the others still run.
   */
  onClose(what: string, release: () => Promise<unknown>): void;
}

/** The first line that is printed when a process cannot start is for people; so is the exit code. */
const EXIT_BAD_CONFIGURATION = 78;

/** Beyond the grace for requests and jobs: to close connections and files. */
const RELEASE_SLACK_MS = 5_000;

/**
 * Runs one process of Stowage: configuration from the environment, a logger, orderly release on SIGTERM, SIGINT or
 * the end of its supervisor. A second signal ends it at once.
 *
 * @param name the process's name in logs, such as `api` or `worker-mail`
 * @param start opens what the process needs, registering each release as soon as it is due
 */
export async function runProcess(
  name: string,
  start: (process: RunningProcess) => Promise<void>,
): Promise<void> {
  const { config, timings } = configOrExit();
  const logger = createLogger({ name, level: config.logLevel });
  const releases: { what: string; release: () => Promise<unknown> }[] = [];
  const stopping = new AbortController();

  const releaseAll = async () => {
    for (let entry = releases.pop(); entry !== undefined; entry = releases.pop()) {
      const { what, release } = entry;
      await release().catch((error: unknown) => logger.error({ err: error, what }, 'release failed'));
    }
  };
  const { close } = closeWithGrace(
    {
      delay: config.shutdownGraceSeconds * 1_000 + RELEASE_SLACK_MS,
      logger: { error: (message: string) => logger.error(message) },
    },
    async ({ signal, err }) => {
      if (err) logger.fatal({ err }, 'process failed');
      else logger.info({ signal: signal ?? 'manual' }, 'stopping');
      stopping.abort();
      await releaseAll();
      logger.info('stopped');
    },
  );
  // A supervisor that is gone can neither restart nor stop this process: leave in order.
  if (process.channel) process.once('disconnect', () => void close());

  try {
    await start({
      config,
      logger,
      timings,
      stopping: stopping.signal,
      onClose: (what, release) => releases.push({ what, release }),
    });
  } catch (error) {
    // Told to stop while it started: what it was about to use is released already, and that is no failure.
    if (!stopping.signal.aborted) throw error;
    logger.info({ err: error }, 'stopped while starting');
  }
}

function configOrExit(): { config: Config; timings: TestTimings } {
  try {
    return { config: loadConfig(process.env), timings: armFaults(process.env) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_BAD_CONFIGURATION);
  }
}
