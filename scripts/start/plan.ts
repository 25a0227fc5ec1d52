import { loadConfig, readSettings, type Settings } from '@stowage/shared/config/config.ts';

/** One process to run: its name and the file that Node starts. */
export interface ProcessDefinition {
  readonly name: string;
  readonly entry: string;
}

/** What `npm start` is going to do, by the environment alone. */
export interface StartPlan {
  readonly settings: Settings;
  /** True when there is no DATABASE_URL. */
  readonly embedsPostgres: boolean;
  /** True when there is no SECRET_KEY. */
  readonly makesSecretKey: boolean;
  /** True when there is no ADMIN_EMAIL. */
  readonly makesAdministrator: boolean;
  readonly queue: 'postgres' | 'redis';
}

export const EMBEDDED_ADMIN_EMAIL = 'admin@localhost';

/**
 * Reads and checks the environment. In production nothing is filled in, so that what is forgotten stops the start.
 * @throws {ConfigError} naming all faults
 */
export function planStart(env: NodeJS.ProcessEnv): StartPlan {
  const settings = readSettings(env);
  const production = settings.nodeEnv === 'production';
  // The children check the same, but only after the database is up: here faults show before anything has started.
  const { queue } = loadConfig(production ? env : { ...EMBEDDED_STAND_INS, ...withoutEmpty(env) });
  return {
    settings,
    embedsPostgres: settings.databaseUrl === undefined,
    makesSecretKey: settings.secretKey === undefined,
    makesAdministrator: settings.adminEmail === undefined && !production,
    queue,
  };
}

const EMBEDDED_STAND_INS = {
  DATABASE_URL: 'postgres://embedded',
  SECRET_KEY: 'made at the first start'.padEnd(32),
};

function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
