import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Packages in the builds that Node takes: Vite's own choice loads a second graphql whose classes do not know the first.
  ssr: { resolve: { conditions: ['node', 'module-sync'] } },
  test: {
    include: ['{apps,workers,shared,scripts}/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    globalSetup: ['scripts/testing/global-setup.ts'],
    setupFiles: ['scripts/testing/prepare-services.ts'],
    pool: 'forks',
    // Each file has a database of its own, so files do not disturb each other; more than two would only fight for cores.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
});
