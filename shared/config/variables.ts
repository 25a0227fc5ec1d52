import {
  baseUrl,
  choice,
  email,
  flag,
  integer,
  list,
  mailbox,
  mimeType,
  onOff,
  origin,
  type Parser,
  proxyTrust,
  text,
  url,
} from './parsers.ts';

export interface Variable<T> {
  readonly parser: Parser<T>;
  /** The value's text when the variable is not set. Undefined: the variable may be absent. */
  readonly fallback?: string;
  /** The same in production, where it differs. */
  readonly productionFallback?: string;
  /** Never printed. */
  readonly secret?: true;
  readonly about: string;
}

/** Keeps the literal type, so that Settings can tell which values are always there. */
function variable<T, R extends Omit<Variable<T>, 'parser'>>(
  parser: Parser<T>,
  rest: R,
): { parser: Parser<T> } & R {
  return { parser, ...rest };
}

/** Every variable that a process reads. The README's table is checked against it. */
export const VARIABLES = {
  NODE_ENV: variable(choice('development', 'production', 'test'), {
    fallback: 'development',
    about: 'In production nothing embedded is used unless it is asked for.',
  }),
  HOST: variable(text(), { fallback: '127.0.0.1', about: 'Address the API listens on.' }),
  PORT: variable(integer(0, 65_535), { fallback: '3000', about: 'Port of the API.' }),
  OPS_HOST: variable(text(), { fallback: '127.0.0.1', about: 'Address of the ops port.' }),
  OPS_PORT: variable(integer(0, 65_535), {
    fallback: '9400',
    about:
      'Port for health, metrics and the queue dashboard. Under `npm start` the workers take the next four.',
  }),
  PUBLIC_URL: variable(baseUrl('http', 'https'), {
    about: 'How clients reach the API; also the issuer of its tokens. Default: `http://HOST:PORT`.',
  }),
  CORS_ORIGINS: variable(list(origin()), {
    fallback: '',
    about: 'Origins whose pages may call the API from a browser.',
  }),
  TRUST_PROXY: variable(proxyTrust(), {
    fallback: 'false',
    about: 'Proxies whose `X-Forwarded-For` is believed: their number, or their addresses.',
  }),
  LOG_LEVEL: variable(choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), {
    fallback: 'info',
    about: 'The least severe log lines to write.',
  }),
  DATA_DIR: variable(text(), {
    fallback: '.data',
    about: 'Folder of the embedded parts: database, objects, mail, secrets.',
  }),
  DATABASE_URL: variable(url('postgres', 'postgresql'), {
    secret: true,
    about: 'Postgres 18. Without it `npm start` runs an embedded one.',
  }),
  DATABASE_POOL_SIZE: variable(integer(2, 200), {
    fallback: '10',
    about: 'Most database connections of one process, beside those of the queue.',
  }),
  REDIS_URL: variable(url('redis', 'rediss'), {
    secret: true,
    about: 'Redis 7 or later, for the queue and the throttles.',
  }),
  QUEUE: variable(choice('postgres', 'redis'), {
    about: 'Where BullMQ keeps the queues. Default: `redis` when `REDIS_URL` is set, else `postgres`.',
  }),
  OBJECT_STORE: variable(choice('filesystem', 's3'), {
    about:
      'Where the bytes are. Default: `s3` when `S3_ENDPOINT` is set, else `filesystem` (under `DATA_DIR`).',
  }),
  S3_ENDPOINT: variable(baseUrl('http', 'https'), { about: 'Address of the S3-compatible server.' }),
  S3_BUCKET: variable(text(3), { fallback: 'stowage', about: 'Bucket; it is made when it is missing.' }),
  S3_REGION: variable(text(), { fallback: 'us-east-1', about: 'Region that requests are signed for.' }),
  S3_ACCESS_KEY_ID: variable(text(), { about: 'Key of the S3 account.' }),
  S3_SECRET_ACCESS_KEY: variable(text(), { secret: true, about: 'Secret of the S3 account.' }),
  S3_FORCE_PATH_STYLE: variable(flag(), {
    fallback: 'true',
    about: 'Puts the bucket into the path instead of the host name; most self-hosted servers want it.',
  }),
  S3_CHECKSUMS: variable(choice('when_required', 'when_supported'), {
    fallback: 'when_required',
    about: 'When the SDK adds checksum headers to requests; older servers refuse them.',
  }),
  SMTP_URL: variable(url('smtp', 'smtps'), {
    secret: true,
    about: 'Mail server. Without it mails are files in `DATA_DIR/mail`.',
  }),
  MAIL_FROM: variable(mailbox(), { fallback: 'Stowage <stowage@localhost>', about: 'Sender of all mails.' }),
  VERIFY_URL: variable(url('http', 'https'), {
    about: 'Page of your site that redeems a sign-up; the mail links to `VERIFY_URL?token=…`.',
  }),
  SECRET_KEY: variable(text(32), {
    secret: true,
    about: 'Protects signing keys, refresh tokens and mail tokens. `npm start` makes one.',
  }),
  ADMIN_EMAIL: variable(email(), { about: 'Administrator to create or promote at start.' }),
  ADMIN_PASSWORD: variable(text(8), { secret: true, about: 'Password of that administrator.' }),
  MAX_FILE_BYTES: variable(integer(1), { fallback: '524288000', about: 'Largest file, in bytes (500 MiB).' }),
  ALLOWED_TYPES: variable(list(mimeType()), {
    about: 'Replaces the list of accepted types (MIME types, told by content).',
  }),
  DEFAULT_MAX_QUOTA_BYTES: variable(integer(0), {
    fallback: '10737418240',
    about: 'Quota of a new user, in bytes (10 GiB).',
  }),
  UPLOAD_BUFFER_BYTES: variable(integer(33_554_432), {
    fallback: '268435456',
    about: 'Memory for parts on their way to the object store, all uploads of a process together.',
  }),
  READ_CACHE_BYTES: variable(integer(0), {
    fallback: '134217728',
    about: 'Memory for originals up to 1 MB and thumbnails, per API process.',
  }),
  THUMBNAIL_WIDTHS: variable(list(integer(1, 4096)), {
    fallback: '64,128,256,512,1024',
    about: 'Widths that are rendered ahead, in pixels.',
  }),
  MAX_INPUT_PIXELS: variable(integer(1, 1_000_000_000), {
    fallback: '100000000',
    about: 'Largest picture that is rendered, in pixels.',
  }),
  SIGNUP_VERIFICATION: variable(choice('optional', 'required'), {
    fallback: 'optional',
    productionFallback: 'required',
    about: 'Whether a login needs a verified address.',
  }),
  PASSWORD_BLOCKLIST: variable(onOff(), {
    fallback: 'off',
    productionFallback: 'on',
    about: 'Refuses the commonest passwords.',
  }),
  BCRYPT_COST: variable(integer(4, 16), { fallback: '12', about: 'Work factor of password hashes.' }),
  GRAPHQL_INTROSPECTION: variable(onOff(), { fallback: 'on', about: 'Introspection and GraphiQL.' }),
  RATE_LIMITS: variable(onOff(), { fallback: 'on', about: 'Throttles on login, sign-up and refresh.' }),
  THUMBNAILS_CONCURRENCY: variable(integer(1, 64), {
    about: 'Pictures that one thumbnails worker renders at once. Default: processor cores + 1.',
  }),
  QUOTA_ACCOUNTING_CONCURRENCY: variable(integer(1, 64), {
    fallback: '4',
    about: 'Jobs that one quota-accounting worker runs at once.',
  }),
  CLEANUP_CONCURRENCY: variable(integer(1, 64), {
    fallback: '4',
    about: 'Jobs that one cleanup worker runs at once.',
  }),
  MAIL_CONCURRENCY: variable(integer(1, 64), {
    fallback: '4',
    about: 'Mails that one mail worker sends at once.',
  }),
  SHUTDOWN_GRACE_SECONDS: variable(integer(1, 600), {
    fallback: '30',
    about: 'How long running requests and jobs may go on after SIGTERM. `npm start` gives its processes 10.',
  }),
  SHUTDOWN_DRAIN_SECONDS: variable(integer(0, 60), {
    fallback: '2',
    about:
      'How long of it the API still takes new connections, so that balancers see it is not ready. Over at once when no connection is open.',
  }),
} as const satisfies Record<string, Variable<unknown>>;

export type VariableName = keyof typeof VARIABLES;
