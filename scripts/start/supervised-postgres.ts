import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { type BackOffOptions, createBackOff } from './back-off.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from './postgres/embedded-postgres.ts';

export interface SupervisedPostgres {
  readonly url: string;
  close(graceMs?: number): Promise<void>;
}

/** The embedded server, started again on the same port when it ends by itself, so that its clients find it. */
export async function openSupervisedPostgres(
  folder: string,
  logger: Logger,
  backOffOptions: BackOffOptions,
): Promise<SupervisedPostgres> {
  const onLog = (message: string) => logger.warn(message);
  const backOff = createBackOff(backOffOptions);
  const closing = new AbortController();
  let startedAt = performance.now();
  let server: EmbeddedPostgres = await openEmbeddedPostgres({ folder, onLog });
  const { url, port } = server;

  const restart = async (): Promise<EmbeddedPostgres | undefined> => {
    while (!closing.signal.aborted) {
      const delayMs = backOff.next(performance.now() - startedAt);
      logger.error({ process: 'postgres', restartInMs: delayMs }, 'a process ended and is restarted');
      await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return undefined;
      startedAt = performance.now();
      try {
        return await openEmbeddedPostgres({ folder, port, onLog });
      } catch (err) {
        logger.error({ err }, 'Postgres did not start');
      }
    }
    return undefined;
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      await server.exited;
      if (closing.signal.aborted) return;
      const next = await restart();
      if (next === undefined) return;
      server = next;
      if (closing.signal.aborted) await server.close();
    }
  };
  const watching = watch();

  return {
    url,
    async close(graceMs) {
      closing.abort();
      await server.close(graceMs);
      await watching;
    },
  };
}
