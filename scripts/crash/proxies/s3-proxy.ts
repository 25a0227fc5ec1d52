import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { type S3Operation, s3Operation } from './s3-request.ts';

/**
 * What may happen to a request.
 * - `500`, `503`, `507`: refused with this status; the server never sees it
 * - `done-500`: the server has done it, and the answer says that it has not
 * - `slow`: passes late, and its answer comes late
 * - `reset`: the connection breaks before the server has seen all of it
 * - `done-reset`: the server has done it, and the connection breaks instead of an answer
 */
export const S3_FAULTS = ['500', '503', '507', 'done-500', 'slow', 'reset', 'done-reset'] as const;
export type S3Fault = (typeof S3_FAULTS)[number];

export interface S3Rule {
  readonly fault: S3Fault;
  /** All when not given. */
  readonly operations?: readonly S3Operation[];
  readonly probability: number;
}

/** A write that the proxy keeps, to pass it on when nobody expects it any more. */
export interface HeldWrite {
  readonly path: string;
  /** Of the connection that it came on. */
  readonly remotePort: number;
  /** Passes it on, and gives the status of the server's answer. */
  release(): Promise<number>;
}

interface S3ProxyOptions {
  readonly target: () => number;
  readonly random: Random;
  readonly onFault: (fault: S3Fault, operation: S3Operation) => void;
}

const SLOW_MS = { least: 500, most: 5_000 };
const LARGEST_HELD = 1024 * 1024;

/** In front of the S3 server: understands HTTP, so that it can fail single operations in the ways that S3 has. */
export class S3Proxy {
  readonly #options: S3ProxyOptions;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  #rules: readonly S3Rule[] = [];
  readonly #used = new WeakSet<S3Rule>();
  #hold: ((write: HeldWrite) => void) | undefined;

  private constructor(options: S3ProxyOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: 30_000 }, (incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch(() => outgoing.socket?.resetAndDestroy());
    });
  }

  static async open(options: S3ProxyOptions): Promise<S3Proxy> {
    const proxy = new S3Proxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    // A server that listens on TCP has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  setRules(rules: readonly S3Rule[]): void {
    this.#rules = rules;
    for (const rule of rules) this.#used.delete(rule);
  }

  /** Whether this rule has made a request fail since it was set. */
  hasFailed(rule: S3Rule): boolean {
    return this.#used.has(rule);
  }

  /** Keeps the next small write of an original: nothing is answered, and nothing is passed on until `release`. */
  holdNextWrite(): Promise<HeldWrite> {
    return new Promise((resolve) => {
      this.#hold = resolve;
    });
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const operation = s3Operation(incoming.method ?? '', incoming.url ?? '/');
    const length = Number(incoming.headers['content-length'] ?? 0);
    if (
      this.#hold !== undefined &&
      operation === 'put' &&
      incoming.url?.includes('/originals/') &&
      length <= LARGEST_HELD
    )
      return await this.#keep(incoming);

    const fault = this.#draw(operation);
    if (fault !== undefined) this.#options.onFault(fault, operation);
    switch (fault) {
      case '500':
      case '503':
      case '507':
        incoming.resume();
        return refuse(outgoing, Number(fault));
      case 'reset':
        if (length > 0) await once(incoming, 'data');
        incoming.socket.resetAndDestroy();
        return;
      case 'slow':
        await sleep(this.#options.random.int(SLOW_MS.least, SLOW_MS.most));
        if (incoming.socket.destroyed) return;
        return await this.#pass(incoming, outgoing, 'slow');
      case 'done-500':
      case 'done-reset':
      case undefined:
        return await this.#pass(incoming, outgoing, fault);
    }
  }

  #draw(operation: S3Operation): S3Fault | undefined {
    const { random } = this.#options;
    for (const rule of this.#rules) {
      if (rule.operations !== undefined && !rule.operations.includes(operation)) continue;
      if (!random.chance(rule.probability)) continue;
      this.#used.add(rule);
      return rule.fault;
    }
    return undefined;
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse, fault?: S3Fault): Promise<void> {
    const onward = this.#send(incoming);
    let answered = false;
    // Who gave up must not have its request done later, unless that is the fault in hand.
    outgoing.once('close', () => {
      if (!answered && !outgoing.writableFinished) onward.destroy();
    });
    incoming.pipe(onward);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    answered = true;
    if (fault === 'done-500' || fault === 'done-reset') {
      answer.resume();
      await once(answer, 'end');
      if (fault === 'done-reset') incoming.socket.resetAndDestroy();
      else refuse(outgoing, 500);
      return;
    }
    if (fault === 'slow') await sleep(this.#options.random.int(SLOW_MS.least, SLOW_MS.most));
    outgoing.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
    answer.pipe(outgoing);
    // What breaks off at the server breaks off here too.
    answer.once('close', () => {
      if (!answer.complete) outgoing.socket?.resetAndDestroy();
    });
    outgoing.once('close', () => answer.destroy());
  }

  async #keep(incoming: IncomingMessage): Promise<void> {
    const kept = this.#hold;
    this.#hold = undefined;
    const remotePort = incoming.socket.remotePort ?? 0;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer); // a stream of bytes without an encoding
    kept?.({
      path: incoming.url ?? '',
      remotePort,
      release: async () => {
        const onward = this.#send(incoming);
        onward.end(Buffer.concat(chunks));
        const [answer] = (await once(onward, 'response')) as [IncomingMessage];
        answer.resume();
        return answer.statusCode ?? 0;
      },
    });
  }

  #send(incoming: IncomingMessage) {
    return request({
      host: '127.0.0.1',
      port: this.#options.target(),
      agent: this.#agent,
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      // As they are: the signature covers them.
      headers: incoming.rawHeaders,
      setHost: false,
    }).on('error', () => incoming.socket.resetAndDestroy());
  }
}

/** In the words of S3. */
function refuse(outgoing: ServerResponse, status: number): void {
  const code = { 503: 'SlowDown', 507: 'InsufficientStorage' }[status] ?? 'InternalError';
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>A fault of the test.</Message></Error>`;
  outgoing.writeHead(status, {
    'content-type': 'application/xml',
    'content-length': Buffer.byteLength(body),
  });
  outgoing.end(body);
}
