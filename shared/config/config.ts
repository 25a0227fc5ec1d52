import { availableParallelism } from 'node:os';
import { VARIABLES, type Variable, type VariableName } from './variables.ts';

type ValueOf<V> = V extends { parser: { parse(text: string): infer T } }
  ? V extends { fallback: string }
    ? T
    : T | undefined
  : never;

type Camel<S extends string> = S extends `${infer A}_${infer B}`
  ? `${Lowercase<A>}${CamelTail<B>}`
  : Lowercase<S>;
type CamelTail<S extends string> = S extends `${infer A}_${infer B}`
  ? `${Capitalize<Lowercase<A>>}${CamelTail<B>}`
  : Capitalize<Lowercase<S>>;

/** The variables' values by their names in camel case, as they were given or by default. */
export type Settings = { readonly [N in VariableName as Camel<N>]: ValueOf<(typeof VARIABLES)[N]> };

/** What a process runs with: every setting, the open ones decided. */
export type Config = Omit<
  Settings,
  'databaseUrl' | 'secretKey' | 'publicUrl' | 'queue' | 'objectStore' | 'thumbnailsConcurrency'
> & {
  readonly databaseUrl: string;
  readonly secretKey: string;
  readonly publicUrl: string;
  readonly queue: 'postgres' | 'redis';
  readonly objectStore: 'filesystem' | 's3';
  readonly thumbnailsConcurrency: number;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** All that is wrong with the environment, one line a fault. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n  ${faults.join('\n  ')}`,
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/**
 * Reads the settings as they are, without asking for what only a running process needs. An empty variable counts
 * as not set.
 * @throws {ConfigError} naming every bad variable and what is allowed
 */
export function readSettings(env: Environment): Settings {
  const { settings, faults } = parseSettings(env);
  if (faults.length > 0) throw new ConfigError(faults);
  return settings;
}

/**
 * Reads the whole configuration of a process.
 * @throws {ConfigError} naming every bad or missing variable and what is allowed
 */
export function loadConfig(env: Environment): Config {
  const { settings, faults } = parseSettings(env);
  const missing = missingVariables(settings, env);
  if (
    faults.length + missing.length > 0 ||
    settings.databaseUrl === undefined ||
    settings.secretKey === undefined
  )
    throw new ConfigError([...faults, ...missing]);
  return {
    ...settings,
    databaseUrl: settings.databaseUrl,
    secretKey: settings.secretKey,
    publicUrl: settings.publicUrl ?? `http://${settings.host}:${settings.port}`,
    queue: settings.queue ?? (settings.redisUrl === undefined ? 'postgres' : 'redis'),
    objectStore: settings.objectStore ?? (settings.s3Endpoint === undefined ? 'filesystem' : 's3'),
    thumbnailsConcurrency: settings.thumbnailsConcurrency ?? availableParallelism() + 1,
  };
}

function parseSettings(env: Environment): { settings: Settings; faults: string[] } {
  const production = env.NODE_ENV === 'production';
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const given = env[name] === '' ? undefined : env[name];
    const text = given ?? (production ? variable.productionFallback : undefined) ?? variable.fallback;
    try {
      values[camelCase(name)] = text === undefined ? undefined : variable.parser.parse(text);
    } catch {
      faults.push(
        `${name} must be ${variable.parser.allowed}${variable.secret ? '' : `, not ${JSON.stringify(text)}`}`,
      );
    }
  }
  // Each value comes from the parser of its own variable, or is absent where Settings says it may be; a caller
  // sees it only when there are no faults.
  return { settings: values as unknown as Settings, faults };
}

function missingVariables(settings: Settings, env: Environment): string[] {
  const production = settings.nodeEnv === 'production';
  const unset = (name: VariableName) => env[name] === undefined || env[name] === '';
  const faults: string[] = [];
  const required = (name: VariableName, why: string) => {
    if (unset(name)) faults.push(`${name} is missing: ${why} (${VARIABLES[name].parser.allowed})`);
  };

  required('DATABASE_URL', 'the database holds the truth');
  required('SECRET_KEY', 'it protects keys and tokens');
  const s3 = settings.objectStore === 's3' || (settings.objectStore === undefined && !unset('S3_ENDPOINT'));
  if (s3) {
    required('S3_ENDPOINT', 'the object store is S3');
    required('S3_ACCESS_KEY_ID', 'the object store is S3');
    required('S3_SECRET_ACCESS_KEY', 'the object store is S3');
  } else if (production && settings.objectStore !== 'filesystem')
    faults.push(
      'S3_ENDPOINT is missing: in production set it, or OBJECT_STORE=filesystem to say that it is meant',
    );
  if (settings.queue === 'redis') required('REDIS_URL', 'the queue is Redis');
  else if (production && settings.queue !== 'postgres' && unset('REDIS_URL'))
    faults.push('REDIS_URL is missing: in production set it, or QUEUE=postgres to say that it is meant');
  if (unset('ADMIN_EMAIL') !== unset('ADMIN_PASSWORD'))
    faults.push('ADMIN_EMAIL and ADMIN_PASSWORD go together: set both or neither');
  return faults;
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
