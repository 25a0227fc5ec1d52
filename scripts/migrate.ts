import { ConfigError, loadConfig } from '@stowage/shared/config/config.ts';
import { prepareServices } from './start/prepare-services.ts';

/** Prepares database and object store for this version, before its processes start. Safe at any time, also twice at once. */
async function main(): Promise<void> {
  const { SECRET_KEY = '' } = process.env;
  // Nothing here uses the secret, so whoever migrates need not have it.
  const config = loadConfig({
    ...process.env,
    SECRET_KEY: SECRET_KEY === '' ? 'not needed'.padEnd(32) : SECRET_KEY,
  });
  const ran = await prepareServices(config);
  console.log(ran.length === 0 ? 'The tables are up to date.' : `Migrated: ${ran.join(', ')}.`);
}

try {
  await main();
} catch (error) {
  if (error instanceof ConfigError) {
    console.error(error.message);
    process.exit(78);
  }
  console.error('The migration failed:', error);
  process.exit(1);
}
