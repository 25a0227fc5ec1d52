import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { armFaults } from './arm-faults.ts';
import { faultPoint } from './fault-points.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-faults-'));
  writeFileSync(join(folder, 'timings.json'), '{"uploads":{"leaseMs":5000}}');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Comes by one point in a process of its own, as this one must not be killed. */
function comeBy(env: Record<string, string>, order: string | undefined) {
  if (order !== undefined) writeFileSync(join(folder, 'upload.written'), order);
  const script = `
    import { armFaults } from ${JSON.stringify(new URL('./arm-faults.ts', import.meta.url).href)};
    import { faultPoint } from ${JSON.stringify(new URL('./fault-points.ts', import.meta.url).href)};
    console.log(JSON.stringify(armFaults(process.env)));
    await faultPoint('upload.written');
    console.log('went on');`;
  const ended = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 10_000,
  });
  return { ...ended, taken: readdirSync(folder).filter((name) => name.endsWith('.taken')).length };
}

test('without the variable, points are nothing and take no order', () => {
  expect(armFaults({})).toEqual({});
  expect(faultPoint('upload.written')).toBeUndefined();
  const ended = comeBy({ STOWAGE_FAULTS: '' }, 'kill');
  expect(ended).toMatchObject({ status: 0, signal: null, taken: 0 });
  expect(existsSync(join(folder, 'upload.written'))).toBe(true);
});

test('a process in production refuses to be armed', () => {
  expect(() => armFaults({ STOWAGE_FAULTS: folder, NODE_ENV: 'production' })).toThrow(/STOWAGE_FAULTS/);
  expect(comeBy({ STOWAGE_FAULTS: folder, NODE_ENV: 'production' }, 'kill')).toMatchObject({
    status: 1,
    taken: 0,
  });
});

test('an armed process without an order goes on, with the timings of the test', () => {
  const ended = comeBy({ STOWAGE_FAULTS: folder, NODE_ENV: 'test' }, undefined);
  expect(ended.stdout.trim().split('\n')).toEqual(['{"uploads":{"leaseMs":5000}}', 'went on']);
});

test('an order is taken, and ends, fails or delays the process', () => {
  const env = { STOWAGE_FAULTS: folder, NODE_ENV: 'test' };
  expect(comeBy(env, 'kill')).toMatchObject({ signal: 'SIGKILL', taken: 1 });
  expect(comeBy(env, 'throw')).toMatchObject({ status: 1, taken: 2 });
  expect(comeBy(env, `wait ${folder}/timings.json`)).toMatchObject({ status: 0, taken: 3 });
});
