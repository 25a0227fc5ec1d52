import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Instance } from '../start/instance-file.ts';
import { isRunning } from '../start/processes.ts';
import { openTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { waitFor } from '../testing/wait-for.ts';
import { type StartedProgram, startProgram, untilGone } from './started-program.ts';

let folder: string;
let programs: StartedProgram[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-test-start-'));
  programs = [];
});

afterEach(async () => {
  for (const program of programs) {
    program.kill('SIGTERM');
    await program.ended;
  }
  await rm(folder, { recursive: true, force: true });
});

function start(env: Record<string, string>): StartedProgram {
  const program = startProgram({ DATA_DIR: folder, ...env });
  programs.push(program);
  return program;
}

async function childPids(count = 2): Promise<number[]> {
  return await waitFor(async () => {
    const text = await readFile(join(folder, 'instance.json'), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const { children } = JSON.parse(text) as Instance;
    return children.length === count && children.map((child) => child.pid);
  });
}

async function ask(port: number, path: string): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
}

describe('with the embedded database', () => {
  async function serverPid(): Promise<number> {
    return Number.parseInt(await readFile(join(folder, 'postgres/data/postmaster.pid'), 'utf8'), 10);
  }

  it('starts, stops in order with exit code 0, leaves nothing running and keeps its data', async () => {
    const first = start({});
    const { opsPort } = await first.ready();
    expect(first.output()).toMatch(/^Stowage is ready at http:\/\/127\.0\.0\.1:\d+$/m);
    expect(first.output()).toContain(`admin@localhost, password in ${join(folder, 'admin-password')}`);
    const environment = JSON.parse(await ask(opsPort, '/environment'));
    const password = (await readFile(join(folder, 'admin-password'), 'utf8')).trim();
    expect(environment).toMatchObject({ ADMIN_EMAIL: 'admin@localhost', ADMIN_PASSWORD: password });
    expect(first.output()).not.toContain(password);
    for (const secret of ['admin-password', 'secret-key', 'postgres/password']) {
      expect((await stat(join(folder, secret))).mode & 0o777).toBe(0o600);
    }
    await query(environment.DATABASE_URL, `CREATE TABLE kept AS SELECT 1 AS one`);
    const pids = [...(await childPids()), await serverPid()];

    first.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    await untilGone(pids);
    await expect(stat(join(folder, 'instance.json'))).rejects.toThrow('ENOENT');

    const second = start({});
    const again = JSON.parse(await ask((await second.ready()).opsPort, '/environment'));
    expect(await query(again.DATABASE_URL, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    expect([again.ADMIN_PASSWORD, again.SECRET_KEY]).toEqual([password, environment.SECRET_KEY]);
  });

  it('recovers from kill -9 of the supervisor', async () => {
    const first = start({});
    await first.ready();
    const pids = await childPids();
    const postgres = await serverPid();
    first.kill('SIGKILL');
    await first.ended;
    expect(await isRunning(postgres)).toBe(true);

    const second = start({});
    await second.ready();
    await untilGone([...pids, postgres]);
    expect(second.output()).toContain('stopped a Postgres server that an earlier start left running');
  });

  it('starts the database again, at the same address, when it is killed', async () => {
    const program = start({});
    const { DATABASE_URL } = JSON.parse(await ask((await program.ready()).opsPort, '/environment'));
    process.kill(await serverPid(), 'SIGKILL');
    await waitFor(() => query(DATABASE_URL, 'SELECT 1 AS one').catch(() => undefined));
    expect(program.output()).toMatch(/"process":"postgres".*restarted/);
  });
});

describe('with a database of its own', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await openTestDatabase();
  });
  afterEach(() => database.close());

  it('gives every process a group of its own, its port and its threads', async () => {
    const program = start({ DATABASE_URL: database.url });
    const { opsPort } = await program.ready();
    const environment = JSON.parse(await ask(opsPort, '/environment'));
    expect(environment).toMatchObject({
      UV_THREADPOOL_SIZE: '16',
      DATABASE_URL: database.url,
      DATA_DIR: folder,
    });
    for (const pid of await childPids()) expect(await processGroup(pid)).toBe(pid);
    expect(await processGroup(program.pid)).toBe(await processGroup(process.pid));
  });

  it('restarts a process that dies, and logs it', async () => {
    const program = start({ DATABASE_URL: database.url });
    const { opsPort } = await program.ready();
    const before = await ask(opsPort, '/');
    await ask(opsPort, '/crash').catch(() => undefined);
    const after = await waitFor(() => ask(opsPort, '/').catch(() => undefined));
    expect(after).not.toBe(before);
    expect(program.output()).toMatch(/"process":"api","ended":"exit code 3","restartInMs":10,.*restarted/);
  });

  it('kills a process that does not stop in time, and still exits with 0', async () => {
    const program = start({ DATABASE_URL: database.url });
    await ask((await program.ready()).opsPort, '/disobey');
    const pids = await childPids();
    program.kill('SIGINT');
    expect(await program.ended).toBe(0);
    await untilGone(pids);
    expect(program.output()).toContain('not all processes ended in time');
  });

  it('ends a process that survived the supervisor, before it starts anew', async () => {
    const first = start({ DATABASE_URL: database.url });
    await first.ready();
    const pids = await childPids();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    first.kill('SIGKILL');
    await first.ended;
    const second = start({ DATABASE_URL: database.url });
    await waitFor(() => second.output().includes('ending a process that an earlier start left running'));
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await second.ready();
    await untilGone(pids);
  });

  it('lets its processes end when it is gone', async () => {
    const program = start({ DATABASE_URL: database.url });
    await program.ready();
    const pids = await childPids();
    program.kill('SIGKILL');
    await untilGone(pids);
  });

  it('refuses a data folder that another instance uses, and leaves that one alone', async () => {
    const first = start({ DATABASE_URL: database.url });
    const { opsPort } = await first.ready();
    const second = start({ DATABASE_URL: database.url });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`is in use by another Stowage (process ${first.pid})`);
    expect(await ask(opsPort, '/')).toMatch(/^\d+$/);
  });

  it('lets exactly one of several starts at once have the data folder', async () => {
    const starts = [1, 2, 3].map(() => start({ DATABASE_URL: database.url }));
    const outcomes = await Promise.all(
      starts.map((program) =>
        program.ready().then(
          () => 'ready',
          () => 'refused',
        ),
      ),
    );
    expect(outcomes.toSorted()).toEqual(['ready', 'refused', 'refused']);
  });

  it('runs two instances side by side', async () => {
    const [first, second] = [
      start({ DATABASE_URL: database.url }),
      start({ DATABASE_URL: database.url, DATA_DIR: join(folder, 'two') }),
    ];
    const ports = [await first.ready(), await second.ready()].map(({ opsPort }) => opsPort);
    expect(new Set(ports).size).toBe(2);
  });

  it('names the port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await waitFor(() => server.listening);
    const { port } = server.address() as { port: number };
    const program = start({ DATABASE_URL: database.url, PORT: String(port) });
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain(`Port ${port} on 127.0.0.1 is taken by another program: set PORT.`);
    server.close();
  });

  it('gives up when a process does not come up, and says which', async () => {
    const program = start({ DATABASE_URL: database.url, FAKE_BROKEN: '1' });
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/(api|worker-fake) does not start \(exit code 3\)/);
  });

  it('stops in order also in the middle of a start', async () => {
    const program = start({ DATABASE_URL: database.url });
    const pids = await childPids();
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    await untilGone(pids);
  });
});

it('prints all faults of the configuration and exits with 78', async () => {
  const program = start({ PORT: 'x', LOG_LEVEL: 'loud' });
  expect(await program.ended).toBe(78);
  expect(program.output()).toContain('2 faults');
});

it('embeds nothing in production', async () => {
  const program = start({ NODE_ENV: 'production' });
  expect(await program.ended).toBe(78);
  for (const name of ['DATABASE_URL', 'SECRET_KEY', 'S3_ENDPOINT', 'REDIS_URL'])
    expect(program.output()).toContain(name);
});

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function processGroup(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[2]);
}
