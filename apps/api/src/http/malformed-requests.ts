import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { toAppError } from './framework-errors.ts';
import { problemOf } from './problem-details.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** Answers what is no HTTP request at all, and then closes: what comes after it cannot be understood. */
export interface MalformedRequests {
  readonly onClientError: (error: Error & { code?: string }, socket: Socket) => void;
  /** A response is on its way on this socket: nothing else may be written to it. */
  readonly responding: WeakSet<Socket>;
}

export function createMalformedRequests(): MalformedRequests {
  const responding = new WeakSet<Socket>();
  return {
    responding,
    onClientError(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable || responding.has(socket)) {
        socket.destroy();
        return;
      }
      socket.end(rawAnswer(error));
      // Whoever keeps sending is not listened to; whoever reads gets the answer first.
      socket.resume();
      setTimeout(() => socket.destroy(), 1_000).unref();
    },
  };
}

function rawAnswer(error: Error): string {
  const known = toAppError(error);
  const shown =
    known.code === 'INTERNAL'
      ? new AppError('INVALID_REQUEST', 'This is not a well-formed HTTP request.')
      : known;
  const { status, headers, body } = problemOf(shown, randomUUID());
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
    ...SECURITY_HEADERS,
    'x-request-id': body.request_id,
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`;
}
