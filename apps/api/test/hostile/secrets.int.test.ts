import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tourAccounts } from '../../../../scripts/smoke/accounts-tour.ts';
import { createClient, tokenFromMail } from '../../../../scripts/smoke/client.ts';
import { tourDeletion, tourFiles } from '../../../../scripts/smoke/files-tour.ts';
import { tourOps, tourQuota } from '../../../../scripts/smoke/ops-tour.ts';
import { type Program, startProgram } from '../../../../scripts/smoke/program.ts';
import { createSteps } from '../../../../scripts/smoke/steps.ts';
import { tourThumbnails } from '../../../../scripts/smoke/thumbnails-tour.ts';
import type { Tour } from '../../../../scripts/smoke/tour.ts';
import { claim } from '../../../../scripts/start/ports.ts';
import { testBucket, testRedisUrl, testS3 } from '../../../../scripts/testing/service-addresses.ts';
import { openTestDatabase, type TestDatabase } from '../../../../scripts/testing/test-database.ts';
import { findSecrets, type Secrets, secret } from './find-secrets.ts';

const PROCESSES = 5;
describe('the whole tour', { timeout: 240_000 }, () => {
  const secrets: Secrets = new Map();
  const realFetch = globalThis.fetch;
  /** Bodies of answers in which there is no secret on purpose. */
  const bodies: string[] = [];
  let database: TestDatabase;
  let dataFolder: string;
  let program: Program | undefined;
  let opsUrls: string[] = [];

  beforeAll(async () => {
    database = await openTestDatabase();
    await keepWritten(database);
    dataFolder = await mkdtemp(join(tmpdir(), 'stowage-secrets-'));
    secrets.set('SECRET_KEY', secret('secret-key'));
    const s3 = testS3();
    if (s3 !== undefined) secrets.set("the S3 server's secret", s3.secretAccessKey);
    const { password } = new URL(database.url);
    if (password !== '') secrets.set("the database's password", password);
    const port = await claim('127.0.0.1', 0, 'PORT');
    const opsPort = await rowOfPorts();
    opsUrls = Array.from({ length: PROCESSES }, (_, index) => `http://127.0.0.1:${opsPort + index}`);
    const redisUrl = testRedisUrl();
    const env = {
      LOG_LEVEL: 'trace',
      DATABASE_URL: database.url,
      SECRET_KEY: secrets.get('SECRET_KEY'),
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
      ...(s3 !== undefined && {
        S3_ENDPOINT: s3.endpoint,
        S3_BUCKET: testBucket(),
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      }),
    };
    Object.assign(process.env, env);
    try {
      program = await startProgram({ dataFolder, port, opsPort });
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
    }
    secrets.set(
      "the administrator's password",
      (await readFile(join(dataFolder, 'admin-password'), 'utf8')).trim(),
    );
    globalThis.fetch = listeningFetch;
  }, 120_000);

  afterAll(async () => {
    globalThis.fetch = realFetch;
    await program?.stop();
    await database?.close();
    await rm(dataFolder, { recursive: true, force: true });
  });

  /** Notes the secrets that answers hand out, and the bodies of all other answers. */
  async function listeningFetch(...request: Parameters<typeof fetch>): Promise<Response> {
    const answer = await realFetch(...request);
    if (!/json/.test(answer.headers.get('content-type') ?? '')) return answer;
    const text = await answer.clone().text();
    const tokens = [...text.matchAll(/"(accessToken|refreshToken)":\s*"([^"]+)"/g)];
    if (tokens.length === 0) bodies.push(text);
    for (const [, kind = '', token = ''] of tokens) {
      const signature = token.split('.').at(-1) ?? '';
      secrets.set(`${kind} ${secrets.size}`, signature);
    }
    return answer;
  }

  it('leaves no password, token or key in logs, errors, jobs, tables or metrics', async () => {
    const printed: string[] = [];
    const steps = createSteps((line) => printed.push(line));
    const client = createClient(program!.baseUrl);
    const tour: Tour = { ...steps, client, dataFolder, opsUrls };
    const visitor = await tourAccounts(tour);
    secrets.set("the visitor's password", visitor!.password);
    secrets.set("the visitor's sign-up token", await tokenFromMail(dataFolder, visitor!.email));
    const pictures = await tourFiles(tour, visitor);
    await tourThumbnails(tour, visitor, pictures);
    await tourQuota(tour, visitor);
    await tourDeletion(tour, visitor, pictures.at(-1));
    await tourOps(tour);
    expect(printed.filter((line) => line.startsWith('FAILED'))).toEqual([]);
    await misuse(visitor!.headers.authorization!, visitor!.email, visitor!.password);

    const metrics: string[] = [];
    for (const url of opsUrls)
      for (const path of ['/metrics', '/health/ready', '/health/live'])
        metrics.push(await (await fetch(url + path)).text());
    const dashboard = await (await fetch(`${opsUrls[0]}/queues/api/queues?jobsPerPage=100`)).text();
    const written = await sql<{ row: string }>`SELECT row FROM written`.execute(database.db);
    const jobs = written.rows.map(({ row }) => row).join('\n');
    const places = {
      'the logs': program!.output(),
      'the bodies of answers': bodies.join('\n'),
      'outbox and jobs': jobs,
      'all tables': await dump(database),
      'metrics and health': metrics.join('\n'),
      'the queue dashboard': dashboard,
    };

    // What is searched is what it should be.
    expect(secrets.size).toBeGreaterThan(8);
    expect(places['the logs']).toMatch(/"path":"\/graphql"/);
    expect(places['the logs']).toMatch(/"level":"debug"/);
    expect(places['the bodies of answers']).toContain('UNAUTHENTICATED');
    for (const job of ['send-mail', 'render-thumbnails', 'post-usage', 'delete-file'])
      expect(places['outbox and jobs']).toContain(job);
    expect(places['all tables']).toContain(visitor!.email);
    expect(places['metrics and health']).toContain('stowage_http_request_duration_seconds');

    for (const [place, text] of Object.entries(places)) expect(findSecrets(text, secrets), place).toEqual([]);
    for (const place of [
      'the logs',
      'the bodies of answers',
      'outbox and jobs',
      'metrics and health',
    ] as const)
      expect(places[place], place).not.toMatch(/\$2b\$\d\d\$|"d":\s*"[\w-]{43}"|eyJ[\w-]{20}/);
  });

  /** Requests that go wrong with a secret in their hands. */
  async function misuse(authorization: string, email: string, password: string): Promise<void> {
    const url = program!.baseUrl;
    const token = authorization.slice('Bearer '.length);
    const graphql = (query: string, variables: unknown, headers: Record<string, string> = {}) =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
      });
    for (const wrong of [token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token} x`]) {
      await fetch(url, { headers: { authorization: wrong } });
      await fetch(`${url}/`, { method: 'POST', headers: { authorization: wrong }, body: 'x' });
      await graphql(
        '{ updateToken { statusCode } }',
        {},
        { 'x-refresh-token': wrong, cookie: `refresh_token=${wrong}` },
      );
    }
    await fetch(`${url}/?access_token=${token}`, { headers: { authorization } });
    await fetch(`${url}/nothing?password=${encodeURIComponent(password)}&token=${token}`);
    await fetch(`${url}/quota/set`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ password, token }).slice(0, -1),
    });
    // The statement is what is wrong, so the values must not be told.
    const secretly = { email, password: `${password}\0`, username: '\ud800' };
    await graphql(
      'mutation ($p: BasicAuthSignupInput!) { basicAuthSignUp(params: $p) { statusCode errors { message } } }',
      { p: secretly },
    );
    for (let n = 0; n < 7; n += 1)
      await graphql('mutation ($p: LoginInput!) { login(params: $p) { statusCode message } }', {
        p: { email: 'nobody@example.org', password },
      });
    await graphql(
      'mutation ($p: VerifySignupTokenInput!) { verifySignupToken(params: $p) { statusCode message } }',
      {
        p: { token: secrets.get("the visitor's sign-up token") },
      },
    );
    await graphql('mutation { logout { statusCode } }', {}, { authorization });
    await fetch(url, { headers: { authorization } });
  }
});

/** Keeps a copy of each row that is ever written to the outbox or to a queue: jobs leave no trace when they are done. */
async function keepWritten({ db }: TestDatabase): Promise<void> {
  await sql`CREATE TABLE written (row text NOT NULL)`.execute(db);
  await sql`CREATE FUNCTION keep_written() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.written VALUES (to_jsonb(NEW)::text); RETURN NEW; END $$`.execute(db);
  for (const table of await tablesOf(db))
    if (table.name === 'outbox' || table.schema !== 'public' || /bull/i.test(table.name))
      await sql`CREATE TRIGGER keep_written AFTER INSERT OR UPDATE ON ${sql.table(`${table.schema}.${table.name}`)}
        FOR EACH ROW EXECUTE FUNCTION keep_written()`.execute(db);
}

async function tablesOf(db: TestDatabase['db']) {
  const { rows } = await sql<{ schema: string; name: string }>`
    SELECT schemaname AS schema, tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename <> 'written'`.execute(db);
  return rows;
}

/** Every row of every table as text. */
async function dump({ db }: TestDatabase): Promise<string> {
  const texts: string[] = [];
  for (const { schema, name } of await tablesOf(db)) {
    const { rows } = await sql<{ row: string }>`
      SELECT to_jsonb(t)::text AS row FROM ${sql.table(`${schema}.${name}`)} t`.execute(db);
    texts.push(...rows.map(({ row }) => row));
  }
  return texts.join('\n');
}

async function rowOfPorts(): Promise<number> {
  for (;;) {
    const first = await claim('127.0.0.1', 0, 'OPS_PORT');
    const rest = Array.from({ length: PROCESSES - 1 }, (_, index) =>
      claim('127.0.0.1', first + 1 + index, 'OPS_PORT'),
    );
    if ((await Promise.allSettled(rest)).every(({ status }) => status === 'fulfilled')) return first;
  }
}
