import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const fixture = fileURLToPath(new URL('./fixtures/three-releases.ts', import.meta.url));
const needed = { DATABASE_URL: 'postgres://localhost/none', SECRET_KEY: 's'.repeat(32) };

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Starts the fixture; `say` is told each piece of its output, and the result comes when it has ended. */
function run(
  env: Record<string, string>,
  say: (output: string, child: ChildProcess) => void,
): Promise<Ended> {
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', 'ipc'];
  const child = fork(fixture, { env: { PATH: process.env.PATH, ...env }, stdio });
  let output = '';
  let errors = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
    say(output, child);
  });
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  // Not 'close': it never comes for a child that was disconnected from this side.
  const ends = [child.stdout, child.stderr].map((stream) => stream && once(stream, 'end'));
  return Promise.all([once(child, 'exit'), ...ends]).then(([[code]]) => ({ code, output, errors }));
}

/** Does the thing once, as soon as the output has the text. */
function onceSaid(text: string, act: (child: ChildProcess) => void) {
  let done = false;
  return (output: string, child: ChildProcess) => {
    if (done || !output.includes(text)) return;
    done = true;
    act(child);
  };
}

it('releases in reverse order on SIGTERM, survives a release that fails, and exits with 0', async () => {
  const { code, output } = await run(
    needed,
    onceSaid('ready\n', (child) => child.kill('SIGTERM')),
  );
  const said = output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(said).toEqual(['ready', 'stopping', 'released third', 'released first']);
  expect(output).toContain('cannot be released');
  expect(code).toBe(0);
});

it('leaves in order when its supervisor is gone', async () => {
  const { code, output } = await run(
    needed,
    onceSaid('ready\n', (child) => child.disconnect()),
  );
  expect(output).toContain('released first');
  expect(code).toBe(0);
});

it('ends at once on a second signal', async () => {
  const first = onceSaid('ready\n', (child) => child.kill('SIGTERM'));
  const second = onceSaid('released third', (child) => child.kill('SIGTERM'));
  const { code, output } = await run({ ...needed, NEVER_ENDS: 'true' }, (said, child) => {
    first(said, child);
    second(said, child);
  });
  expect(code).toBe(1);
  expect(output).not.toContain('released first');
});

it('releases what it holds and exits with 1 when it cannot start', async () => {
  const { code, output } = await run({ ...needed, FAILS_AT_START: 'true' }, () => {});
  expect(output).toContain('no such bucket');
  expect(output).toContain('released first');
  expect(code).toBe(1);
});

it('releases what it holds and exits with 0 when it is told to stop while it starts', async () => {
  const stop = onceSaid('starting\n', (child) => child.kill('SIGTERM'));
  const { code, output } = await run({ ...needed, STOPPED_AT_START: 'true' }, stop);
  expect(output).toContain('released first');
  expect(code).toBe(0);
});

it('stops at once with every fault when the configuration is bad', async () => {
  const { code, output, errors } = await run({ PORT: 'x' }, () => {});
  expect(code).toBe(78);
  expect(output).toBe('');
  expect(errors).toMatch(
    /3 faults:\n {2}PORT must .*\n {2}DATABASE_URL is missing.*\n {2}SECRET_KEY is missing/,
  );
});
