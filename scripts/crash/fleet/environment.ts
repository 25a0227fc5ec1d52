/** The processes under test: two of each. */
export const PROCESS_KINDS = ['api', 'thumbnails', 'quota-accounting', 'cleanup', 'mail'] as const;
export type ProcessKind = (typeof PROCESS_KINDS)[number];

export const ENTRIES: Readonly<Record<ProcessKind, string>> = {
  api: 'apps/api/src/main.ts',
  thumbnails: 'workers/thumbnails/src/main.ts',
  'quota-accounting': 'workers/quota-accounting/src/main.ts',
  cleanup: 'workers/cleanup/src/main.ts',
  mail: 'workers/mail/src/main.ts',
};

export const THUMBNAIL_WIDTHS = [64, 256];
export const SHUTDOWN_GRACE_SECONDS = 5;
export const BUCKET = 'stowage-crash';
export const ADMIN = { email: 'admin@example.com', password: 'the crash suite is the administrator' };

export interface Addresses {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly s3Endpoint: string;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The variables of one process. Nothing of this suite's own environment gets in but where programs are found. */
export function processEnvironment(options: {
  readonly kind: ProcessKind;
  readonly folder: string;
  readonly faultsFolder: string;
  readonly port: number;
  readonly opsPort: number;
  readonly addresses: Addresses;
  readonly credentials: Credentials;
}): NodeJS.ProcessEnv {
  const { kind, folder, addresses, credentials } = options;
  const { PATH, HOME, TMPDIR } = process.env;
  return {
    ...(PATH !== undefined && { PATH }),
    ...(HOME !== undefined && { HOME }),
    ...(TMPDIR !== undefined && { TMPDIR }),
    NODE_ENV: 'test',
    UV_THREADPOOL_SIZE: '16',
    MALLOC_ARENA_MAX: '2',
    STOWAGE_FAULTS: options.faultsFolder,
    SECRET_KEY: 'the secret of the crash suite'.padEnd(40, '.'),
    PUBLIC_URL: 'http://stowage.test',
    DATA_DIR: `${folder}/data`,
    PORT: String(options.port),
    OPS_PORT: String(options.opsPort),
    DATABASE_URL: addresses.databaseUrl,
    DATABASE_POOL_SIZE: '6',
    REDIS_URL: addresses.redisUrl,
    S3_ENDPOINT: addresses.s3Endpoint,
    S3_BUCKET: BUCKET,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    UPLOAD_BUFFER_BYTES: String(64 * 1024 * 1024),
    READ_CACHE_BYTES: String(16 * 1024 * 1024),
    THUMBNAIL_WIDTHS: THUMBNAIL_WIDTHS.join(','),
    THUMBNAILS_CONCURRENCY: '1',
    SHUTDOWN_GRACE_SECONDS: String(SHUTDOWN_GRACE_SECONDS),
    RATE_LIMITS: 'off',
    BCRYPT_COST: '4',
    SIGNUP_VERIFICATION: 'optional',
    ...(kind === 'api' && { ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }),
  };
}
