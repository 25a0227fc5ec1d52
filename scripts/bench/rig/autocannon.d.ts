/** The part of autocannon that is used here; it comes without types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  export interface Client extends EventEmitter {
    setHeaders(headers: Record<string, string>): void;
    setRequests(requests: { path: string; headers: Record<string, string> }[]): void;
    on(event: 'headers', listener: (head: { statusCode: number; headers: string[] }) => void): this;
  }

  interface Options {
    url: string;
    connections: number;
    method: string;
    headers: Record<string, string>;
    timeout: number;
    setupClient: (client: Client) => void;
    duration?: number;
    amount?: number;
    overallRate?: number;
    body?: Buffer;
  }

  interface Running extends EventEmitter, PromiseLike<unknown> {
    on(
      event: 'response',
      listener: (client: Client, status: number, bytes: number, ms: number) => void,
    ): this;
    on(event: 'reqError', listener: (error: Error) => void): this;
  }

  export default function autocannon(options: Options): Running;
}
