import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '../smoke/client.ts';
import { startProgram } from '../smoke/program.ts';
import { claim } from '../start/ports.ts';

/**
 * Fuzzes the REST interface by its own description: starts `npm start`, and lets Schemathesis send what the
 * description allows, and what it does not, as a user who is logged in. It fails when an answer is a 500, or not as
 * described, and when the log tells of a failure. Not of the tour: this needs Python. Run it with the path of `st`.
 */
const SECONDS = 100;

const st = process.argv[2];
if (st === undefined) throw new Error('usage: node scripts/ci/fuzz.ts <path of st>');
const seed = process.env.FUZZ_SEED ?? String(randomInt(2 ** 31));
const folder = await mkdtemp(join(tmpdir(), 'stowage-fuzz-'));
const program = await startProgram({
  dataFolder: join(folder, 'data'),
  port: await claim('127.0.0.1', 0, 'PORT'),
  opsPort: 0,
});
let failed = true;
try {
  console.log(`seed ${seed} (again: FUZZ_SEED=${seed})`);
  const code = await fuzz(st, program.baseUrl, await logIn(program.baseUrl));
  const failures = program
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'));
  for (const line of failures) console.log(line);
  failed = code !== 0 || failures.length > 0;
} finally {
  await program.stop();
  await rm(folder, { recursive: true, force: true });
}
console.log(failed ? 'FAILED' : 'nothing found');
process.exit(failed ? 1 : 0);

/** Signs up, and gives the access token. */
async function logIn(baseUrl: string): Promise<string> {
  const { graphql } = createClient(baseUrl);
  const params = { email: 'fuzz@example.org', password: 'a long enough password' };
  await graphql(
    'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }',
    { params },
  );
  const { login } = await graphql<{ login: { accessToken: string } }>(
    'mutation ($params: LoginInput!) { login(params: $params) { accessToken } }',
    { params },
  );
  return login.accessToken;
}

/** The exit code of Schemathesis. */
async function fuzz(command: string, baseUrl: string, token: string): Promise<number | null> {
  const options = [
    ...['--config-file', join(import.meta.dirname, 'schemathesis.toml'), 'run', `${baseUrl}/openapi.json`],
    ...['--url', baseUrl, '--header', `Authorization: Bearer ${token}`],
    ...['--max-time', String(SECONDS), '--seed', seed, '--continue-on-failure', '--no-color'],
  ];
  // Schemathesis leaves folders where it runs.
  const child = spawn(command, options, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'exit');
  return code;
}
