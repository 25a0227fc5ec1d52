import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const MODULE = join(import.meta.dirname, '../create-logger.ts');

it('loses no line of a process that exits at once', async () => {
  const program = `
    import { createLogger } from ${JSON.stringify(MODULE)};
    const logger = createLogger({ name: 'test', level: 'info' });
    for (let number = 0; number < 1000; number += 1) logger.info({ number }, 'line');
    process.exit(0);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
  const numbers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).number);
  expect(numbers).toEqual(Array.from({ length: 1000 }, (_, index) => index));
});
