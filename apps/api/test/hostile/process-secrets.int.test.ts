import { spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { claim } from '../../../../scripts/start/ports.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { findSecrets, type Secrets, secret } from './find-secrets.ts';

describe('a process whose services are away', { timeout: 60_000 }, () => {
  const children: ReturnType<typeof spawn>[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  it.each([
    'apps/api/src/main.ts',
    'workers/thumbnails/src/main.ts',
    'workers/quota-accounting/src/main.ts',
    'workers/cleanup/src/main.ts',
    'workers/mail/src/main.ts',
    'scripts/migrate.ts',
  ])('%s tells their addresses, not the secrets in them', async (program) => {
    const secrets: Secrets = new Map(
      ['database', 'redis', 's3', 'smtp', 'key', 'admin'].map((name) => [name, secret(name)]),
    );
    const { port } = new URL(`http://h:${await claim('127.0.0.1', 0, 'OPS_PORT')}`);
    const child = spawn(process.execPath, [program], {
      env: {
        LOG_LEVEL: 'trace',
        DATABASE_URL: `postgres://stowage:${secrets.get('database')}@127.0.0.1:1/stowage`,
        REDIS_URL: `redis://default:${secrets.get('redis')}@127.0.0.1:1`,
        S3_ENDPOINT: 'http://127.0.0.1:1',
        S3_BUCKET: 'bucket',
        S3_ACCESS_KEY_ID: 'id',
        S3_SECRET_ACCESS_KEY: secrets.get('s3'),
        SMTP_URL: `smtp://user:${secrets.get('smtp')}@127.0.0.1:1`,
        SECRET_KEY: secrets.get('key'),
        ADMIN_EMAIL: 'admin@example.org',
        ADMIN_PASSWORD: secrets.get('admin'),
        PORT: '0',
        OPS_PORT: port,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text));
    child.stderr.on('data', (text: Buffer) => (output += text));
    const ended = new Promise((resolve) => child.once('close', () => resolve('ended')));
    const ready = waitFor(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
        return answer?.status === 503 && output.includes('ECONNREFUSED') ? answer.text() : undefined;
      },
      { timeoutMs: 40_000 },
    ).catch(() => 'no answer');
    const last = await Promise.race([ready, ended]);
    output += last;
    expect(output).toMatch(/ECONNREFUSED|does not answer/);
    expect(findSecrets(output, secrets)).toEqual([]);
  });

  it('a configuration that is wrong is told without its values', async () => {
    const secrets: Secrets = new Map(
      ['database', 'redis', 's3', 'smtp', 'admin'].map((name) => [name, secret(name)]),
    );
    const child = spawn(process.execPath, ['apps/api/src/main.ts'], {
      env: {
        DATABASE_URL: `nonsense://stowage:${secrets.get('database')}@h/x`,
        REDIS_URL: `${secrets.get('redis')}`,
        S3_ENDPOINT: 'no address',
        S3_SECRET_ACCESS_KEY: secrets.get('s3'),
        SMTP_URL: `http://user:${secrets.get('smtp')}@h`,
        SECRET_KEY: 'too-short-a-key',
        ADMIN_PASSWORD: secrets.get('admin'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text));
    child.stderr.on('data', (text: Buffer) => (output += text));
    await new Promise((resolve) => child.once('close', resolve));
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'SECRET_KEY'])
      expect(output).toContain(name);
    expect(findSecrets(output, secrets.set('key', 'too-short-a-key'))).toEqual([]);
  });
});
