import { expect, it } from 'vitest';
import { apiEnvironment, type ChildrenSettings, workerEnvironment } from './children-environment.ts';

const settings: ChildrenSettings = {
  env: { PATH: '/bin', LOG_LEVEL: 'debug', ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: 'of the caller' },
  dataFolder: '/data',
  databaseUrl: 'postgres://db',
  secretKey: 'k'.repeat(32),
  admin: undefined,
  ports: { port: 3000, opsPorts: [9400, 9401] },
};

it('passes on the caller’s variables, and adds what was made for them', () => {
  expect(apiEnvironment(settings)).toMatchObject({
    LOG_LEVEL: 'debug',
    DATA_DIR: '/data',
    DATABASE_URL: 'postgres://db',
    PORT: '3000',
    OPS_PORT: '9400',
    UV_THREADPOOL_SIZE: '16',
    ADMIN_EMAIL: 'root@example.com',
  });
  expect(workerEnvironment(settings, 1)).toMatchObject({ OPS_PORT: '9401', MALLOC_ARENA_MAX: '2' });
});

it('tells the administrator’s password to the API only', () => {
  const admin = { email: 'admin@localhost', password: 'made' };
  expect(apiEnvironment({ ...settings, admin })).toMatchObject({
    ADMIN_EMAIL: 'admin@localhost',
    ADMIN_PASSWORD: 'made',
  });
  expect(Object.keys(workerEnvironment({ ...settings, admin }, 1)).join()).not.toContain('ADMIN');
});

it('gives running work ten seconds at most, and less when asked to', () => {
  const graceOf = (SHUTDOWN_GRACE_SECONDS?: string) =>
    apiEnvironment({ ...settings, env: { SHUTDOWN_GRACE_SECONDS } }).SHUTDOWN_GRACE_SECONDS;
  expect([graceOf(), graceOf(''), graceOf('60'), graceOf('3')]).toEqual(['10', '10', '10', '3']);
});
