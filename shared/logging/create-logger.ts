import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/** Keys whose values never reach a log line, wherever they stand within two levels. */
const SECRET_KEYS = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'passwordHash',
  'password_hash',
  'token',
  'accessToken',
  'refreshToken',
  'secret',
  'secretKey',
  'x-refresh-token',
];

export interface LoggerOptions {
  /** The process's name, on every line. */
  readonly name: string;
  readonly level: string;
  /** Where lines go; standard output by default. */
  readonly destination?: DestinationStream;
}

/**
 * Lines are written together, a page at a time and 100 ms late at most: a write for each line cost more than all else
 * that a cached read takes. A page is what a pipe that several processes share takes at once, so lines stay whole.
 * What is left is written when the process exits, and a `fatal` line at once.
 */
const TOGETHER = { sync: false, minLength: 3_584, maxWrite: 4_096, periodicFlush: 100 };

/** JSON lines with ISO times and without secrets. */
export function createLogger({ name, level, destination }: LoggerOptions): Logger {
  const options = {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: SECRET_KEYS.flatMap((key) => {
        const step = key.includes('-') ? `["${key}"]` : `.${key}`;
        return [key.includes('-') ? `["${key}"]` : key, `*${step}`, `*.*${step}`];
      }),
      censor: '[redacted]',
    },
  };
  return pino(options, destination ?? pino.destination(TOGETHER));
}
