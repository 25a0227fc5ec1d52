import { connect, type Socket } from 'node:net';
import { waitFor } from '../../../scripts/testing/wait-for.ts';

export type RawClient = Awaited<ReturnType<typeof openRaw>>;

/** A connection on which a test sends what it likes, and sees what comes back. */
export async function openRaw(port: number) {
  const socket: Socket = connect(port, '127.0.0.1');
  let received = '';
  let closed = false;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('close', () => {
    closed = true;
  });
  // A reset is one of the ways in which a server ends a connection.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    send: (data: string | Uint8Array) => socket.write(data),
    received: () => received,
    isClosed: () => closed,
    /** Waits until the answer holds the text, and returns all that came so far. */
    until: (text: string) => waitFor(() => (received.includes(text) ? received : undefined)),
    untilClosed: () => waitFor(() => closed),
    forget: () => {
      received = '';
    },
    close: () => socket.destroy(),
  };
}

export interface RawUpload {
  readonly token?: string;
  readonly headers?: readonly string[];
  /** Undefined: chunked. */
  readonly contentLength?: number;
}

/** The head of an upload request. */
export function uploadHead({ token, headers = [], contentLength }: RawUpload): string {
  const lines = [
    'POST / HTTP/1.1',
    'host: localhost',
    'content-type: multipart/form-data; boundary=b',
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    contentLength === undefined ? 'transfer-encoding: chunked' : `content-length: ${contentLength}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** A multipart body with one file; `bytes` as Latin-1. */
export function uploadBody(bytes: string, fileName = 'a.txt'): string {
  return `--b\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n${bytes}\r\n--b--\r\n`;
}
