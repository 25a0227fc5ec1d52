import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const manifest: { exports: Record<string, string> } = JSON.parse(
  readFileSync(join(root, 'shared/package.json'), 'utf8'),
);
const exported = Object.keys(manifest.exports);

/** What all files outside of shared/ import from it. */
function imported(): string[] {
  const files = globSync('{apps,workers,scripts}/**/*.ts', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  });
  const names = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/['"]@stowage\/shared\/([\w./-]+)['"]/g)].map(
      ([, path]) => `./${path}`,
    ),
  );
  return [...new Set(names)].sort();
}

describe('the public files of shared/', () => {
  it('are those that others import, one by one and in order', () => {
    expect(exported).toEqual(imported());
  });

  it('are exported as themselves', () => {
    expect(Object.values(manifest.exports)).toEqual(exported);
  });
});
