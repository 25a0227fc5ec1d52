import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, realpath, stat, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { signalUntilGone } from '../processes.ts';
import { findPostgresBinaries, type PostgresBinaries } from './binaries.ts';
import { dataFolderArgument, ensureCluster, POSTGRES_USER } from './cluster.ts';
import { clusterName, stopLeftoverServer } from './leftover-server.ts';
import { chooseRunAs, type RunAs } from './run-as.ts';

export interface EmbeddedPostgresOptions {
  /** Everything the server keeps is below this folder. */
  readonly folder: string;
  /** Port on 127.0.0.1; a free one when not given. */
  readonly port?: number;
  /** False only for tests: fast, and lost with the machine. */
  readonly durable?: boolean;
  /** Server parameters beyond the house's own. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly onLog?: (message: string) => void;
}

export interface EmbeddedPostgres {
  /** Of the database `stowage`, with its password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server process has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /**
   * Fast shutdown, and after `graceMs` one that leaves work to the next start's recovery; resolves when the
   * process is gone.
   */
  close(graceMs?: number): Promise<void>;
}

const READY_DEADLINE_MS = 30_000;
const STOP_GRACE_MS = 6_000;
const LARGEST_LOG = 10 * 1024 * 1024;

/**
 * Starts a Postgres server of our own on 127.0.0.1, makes its cluster and database first when they are missing, and
 * stops one that an earlier, killed supervisor left behind. Throws with the end of the server's log when it
 * does not come up.
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.onLog ?? (() => undefined);
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const folder = await realpath(options.folder);
  const data = join(folder, 'data');
  const runAs = await chooseRunAs(data);
  const binaries = await findPostgresBinaries(runAs);
  const durable = options.durable ?? true;
  const password = await ensureCluster({ folder, binaries, runAs, durable });
  if (await stopLeftoverServer(data)) log('stopped a Postgres server that an earlier start left running');

  const deadline = Date.now() + READY_DEADLINE_MS;
  for (;;) {
    const port = options.port ?? (await findFreePort());
    const url = (database: string) => `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/${database}`;
    const server = await startServer({
      folder,
      data,
      binaries,
      runAs,
      port,
      durable,
      settings: options.settings ?? {},
    });
    if (await becomesReady(server, url('postgres'), deadline)) {
      await ensureDatabase(url('postgres'));
      return {
        url: url('stowage'),
        port,
        pid: server.pid,
        exited: server.exited,
        close: (graceMs = STOP_GRACE_MS) => stop(server, graceMs),
      };
    }
    await stop(server, STOP_GRACE_MS);
    // The backends of a killed server need a moment to notice; a port may be taken between our look and the bind.
    if (Date.now() > deadline)
      throw new Error(`The embedded Postgres did not start:\n${await logTail(folder)}`);
    await sleep(250);
  }
}

interface Server {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly exited: Promise<void>;
  hasExited: boolean;
}

interface ServerOptions {
  readonly folder: string;
  readonly data: string;
  readonly binaries: PostgresBinaries;
  readonly runAs: RunAs;
  readonly port: number;
  readonly durable: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

async function startServer(options: ServerOptions): Promise<Server> {
  const { folder, data, binaries, runAs, port } = options;
  const settings: Record<string, string> = {
    cluster_name: clusterName(data),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // Failed statements are reported to the client that sent them; here only what concerns the server.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
  };
  const args = ['-D', dataFolderArgument(data, runAs), '-p', String(port)];
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`);

  const logPath = join(folder, 'server.log');
  if (((await stat(logPath).catch(() => undefined))?.size ?? 0) > LARGEST_LOG) await truncate(logPath);
  const logFile = await open(logPath, 'a', 0o600);
  try {
    // A process group of its own: Ctrl-C in the terminal must not reach the database before its clients are done.
    const child = spawn(binaries.postgres, args, {
      ...runAs,
      cwd: data,
      detached: true,
      stdio: ['ignore', logFile.fd, logFile.fd],
      env: { PATH: process.env.PATH, TZ: process.env.TZ, LC_ALL: 'C' },
    });
    await once(child, 'spawn');
    if (child.pid === undefined) throw new Error('The embedded Postgres was not started.');
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const server: Server = { child, pid: child.pid, exited, hasExited: false };
    void exited.then(() => (server.hasExited = true));
    return server;
  } finally {
    await logFile.close();
  }
}

async function becomesReady(server: Server, url: string, deadline: number): Promise<boolean> {
  while (!server.hasExited && Date.now() < deadline) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      // No other server that happens to have the port would take our password.
      await client.connect();
      await client.end();
      return !server.hasExited;
    } catch {
      await client.end().catch(() => undefined);
      await sleep(25);
    }
  }
  return false;
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'stowage'`);
    if (rowCount === 0) await client.query('CREATE DATABASE stowage');
  } finally {
    await client.end();
  }
}

async function stop(server: Server, graceMs: number): Promise<void> {
  if (server.hasExited) return;
  await signalUntilGone(server.pid, [
    { signal: 'SIGINT', graceMs },
    { signal: 'SIGQUIT', graceMs: 500 },
    { signal: 'SIGKILL', graceMs: 2_000 },
  ]);
  await server.exited;
}

async function logTail(folder: string): Promise<string> {
  const text = await readFile(join(folder, 'server.log'), 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-20).join('\n');
}

/** A port on 127.0.0.1 that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
