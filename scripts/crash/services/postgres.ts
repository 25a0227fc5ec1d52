import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../start/postgres/embedded-postgres.ts';
import type { Service } from './service.ts';

export interface PostgresService extends Service {
  /** Of the database, on another port: that of a proxy. */
  urlAt(port: number): string;
  /** Whether it was away within the last so many ms. */
  wasAwayWithin(ms: number): boolean;
}

const TERM_GRACE_MS = 3_000;

/** The embedded Postgres, durable as in production. */
export async function openPostgres(folder: string): Promise<PostgresService> {
  const open = (port?: number) =>
    openEmbeddedPostgres({ folder: join(folder, 'postgres'), ...(port !== undefined && { port }) });
  let server: EmbeddedPostgres | undefined = await open();
  const { port, url } = server;
  let starting: Promise<void> | undefined;
  let awayAt = Number.NEGATIVE_INFINITY;

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = server;
    server = undefined;
    if (ending === undefined) return;
    process.kill(ending.pid, signal);
    // SIGTERM is Postgres' smart shutdown: it waits until all clients have left, which pools never do.
    if (signal === 'SIGTERM') await Promise.race([ending.exited, sleep(TERM_GRACE_MS)]);
    await ending.close();
    await ending.exited;
  }

  return {
    name: 'postgres',
    port,
    urlAt: (other) => url.replace(`:${port}/`, `:${other}/`),
    end,
    ensure() {
      starting ??= (async () => {
        if (server !== undefined) return;
        server = await open(port);
        awayAt = performance.now();
      })().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    wasAwayWithin: (ms) => server === undefined || performance.now() - awayAt < ms,
    async close() {
      await server?.close();
    },
  };
}
