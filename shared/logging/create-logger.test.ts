import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createLogger } from './create-logger.ts';

function logged(fields: Record<string, unknown>): string {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  createLogger({ name: 'test', level: 'info', destination }).info(fields, 'line');
  return lines.join('');
}

it('writes one JSON line with name, level and ISO time', () => {
  const line = JSON.parse(logged({ size: 1 }));
  expect(line).toMatchObject({ name: 'test', level: 'info', msg: 'line', size: 1 });
  expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT/);
});

it.each([
  [{ password: 'hunter2' }],
  [{ input: { password: 'hunter2' } }],
  [{ req: { headers: { authorization: 'Bearer hunter2' } } }],
  [{ req: { headers: { 'x-refresh-token': 'hunter2' } } }],
  [{ headers: { 'set-cookie': 'hunter2' } }],
  [{ refreshToken: 'hunter2' }],
])('keeps secrets out of %j', (fields) => {
  const line = logged(fields);
  expect(line).toContain('[redacted]');
  expect(line).not.toContain('hunter2');
});
