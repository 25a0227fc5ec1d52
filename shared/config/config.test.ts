import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, readSettings } from './config.ts';

const needed = { DATABASE_URL: 'postgres://localhost/stowage', SECRET_KEY: 's'.repeat(32) };
const production = {
  ...needed,
  NODE_ENV: 'production',
  REDIS_URL: 'redis://localhost',
  S3_ENDPOINT: 'http://localhost:9000',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('fills in what is not set', () => {
    const config = loadConfig(needed);
    expect(config.maxFileBytes).toBe(524_288_000);
    expect(config.thumbnailWidths).toEqual([64, 128, 256, 512, 1024]);
    expect(config.publicUrl).toBe('http://127.0.0.1:3000');
    expect([config.queue, config.objectStore]).toEqual(['postgres', 'filesystem']);
  });

  it('takes Redis and S3 when their addresses are given', () => {
    const config = loadConfig(production);
    expect([config.queue, config.objectStore]).toEqual(['redis', 's3']);
  });

  it('lists every fault at once, each with the name and what is allowed', () => {
    const faults = faultsOf({ PORT: '70000', LOG_LEVEL: 'loud', THUMBNAIL_WIDTHS: '64,0' });
    expect(faults).toHaveLength(5);
    expect(faults).toContain('PORT must be a whole number from 0 to 65535, not "70000"');
    expect(faults.find((fault) => fault.startsWith('LOG_LEVEL'))).toContain('fatal, error, warn, info');
    expect(faults.find((fault) => fault.startsWith('THUMBNAIL_WIDTHS'))).toContain('from 1 to 4096');
    expect(faults.filter((fault) => /^(DATABASE_URL|SECRET_KEY) is missing/.test(fault))).toHaveLength(2);
  });

  it('never prints the value of a secret', () => {
    const faults = faultsOf({
      ...needed,
      SECRET_KEY: 'too-short-secret',
      DATABASE_URL: 'mysql://user:hunter2@db',
    });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toMatch(/too-short-secret|hunter2/);
  });

  it.each(['1.5', '-1', '1e9', '0x10', '9007199254740992', ' 1'])(
    'refuses %j as a number of bytes',
    (value) => {
      expect(faultsOf({ ...needed, MAX_FILE_BYTES: value })).toHaveLength(1);
    },
  );

  it('counts an empty variable as not set', () => {
    expect(loadConfig({ ...needed, REDIS_URL: '', PORT: '' }).port).toBe(3000);
  });

  it('asks in production for what is embedded elsewhere, unless it is meant', () => {
    expect(faultsOf({ ...needed, NODE_ENV: 'production' }).map((fault) => fault.split(' ')[0])).toEqual([
      'S3_ENDPOINT',
      'REDIS_URL',
    ]);
    expect(
      faultsOf({ ...needed, NODE_ENV: 'production', OBJECT_STORE: 'filesystem', QUEUE: 'postgres' }),
    ).toEqual([]);
  });

  it('is stricter with accounts in production', () => {
    const config = loadConfig(production);
    expect([config.signupVerification, config.passwordBlocklist]).toEqual(['required', true]);
    expect(loadConfig({ ...production, SIGNUP_VERIFICATION: 'optional' }).signupVerification).toBe(
      'optional',
    );
  });

  it('wants the address and the password of an administrator together', () => {
    expect(faultsOf({ ...needed, ADMIN_EMAIL: 'admin@localhost' })).toHaveLength(1);
  });

  it('wants the S3 keys when the object store is S3', () => {
    expect(faultsOf({ ...needed, OBJECT_STORE: 's3' }).map((fault) => fault.split(' ')[0])).toEqual([
      'S3_ENDPOINT',
      'S3_ACCESS_KEY_ID',
      'S3_SECRET_ACCESS_KEY',
    ]);
  });

  it.each([
    ['false', false],
    ['2', 2],
    ['10.0.0.0/8,::1', ['10.0.0.0/8', '::1']],
  ])('reads TRUST_PROXY=%s', (value, expected) => {
    expect(loadConfig({ ...needed, TRUST_PROXY: value }).trustProxy).toEqual(expected);
  });
});

describe('readSettings', () => {
  it('does not ask for what only a running process needs', () => {
    expect(readSettings({}).databaseUrl).toBeUndefined();
  });
});
