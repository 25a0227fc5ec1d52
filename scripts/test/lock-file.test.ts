import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface LockFile {
  packages: Record<string, { optionalDependencies?: Record<string, string> }>;
}

// `npm i` leaves out packages for other platforms when a registry does not have them; `npm ci` then fails everywhere.
it('has an entry in the lock file for every optional package, of whatever platform', () => {
  const path = join(import.meta.dirname, '../../package-lock.json');
  const { packages }: LockFile = JSON.parse(readFileSync(path, 'utf8'));
  const missing = Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${folder}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});
