import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createLogger, type Logger } from '@stowage/shared/logging/create-logger.ts';
import { prettyFactory } from 'pino-pretty';

/** Where the log lines of the supervisor and its children go. */
export interface LogOutput {
  /** For the stdout and stderr of a child. */
  readonly stdio: 'pipe' | 'inherit';
  attach(child: ChildProcess): void;
  createLogger(name: string, level: string): Logger;
}

/**
 * In a terminal lines are made readable, with the process's name in front. Otherwise the children write their JSON
 * lines to our own standard output, at no cost here.
 */
export function createLogOutput(terminal: boolean): LogOutput {
  if (!terminal) {
    return {
      stdio: 'inherit',
      attach: () => undefined,
      createLogger: (name, level) => createLogger({ name, level }),
    };
  }
  const pretty = prettyFactory({
    colorize: process.env.NO_COLOR === undefined,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    singleLine: true,
  });
  const write = (line: string) => {
    if (line !== '') process.stdout.write(pretty(line));
  };
  const readLines = (stream: Readable | null) => {
    if (stream !== null)
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', write);
  };
  return {
    stdio: 'pipe',
    attach(child) {
      readLines(child.stdout);
      readLines(child.stderr);
    },
    createLogger: (name, level) => createLogger({ name, level, destination: { write } }),
  };
}
