import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to bytes on their way. `refuse`: connections are cut as soon as they are made. */
export type Flow = 'pass' | 'stall' | 'slow' | 'refuse';

/** Between one process and one service. Makes trouble on demand. */
export class TcpProxy {
  readonly #server: Server;
  readonly #target: () => number;
  readonly #links = new Set<Link>();
  readonly #delayMs: () => number;
  #flow: Flow = 'pass';
  #disturbedAt = Number.NEGATIVE_INFINITY;
  #trap: { readonly text: string; readonly onSprung: () => void } | undefined;

  private constructor(target: () => number, delayMs: () => number) {
    this.#target = target;
    this.#delayMs = delayMs;
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  /** @param delayMs how long the next chunk is held back while the flow is slow */
  static async open(target: () => number, delayMs: () => number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, delayMs);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    // A server that listens on TCP has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  /** Changes what happens to all connections, those that are open too. */
  setFlow(flow: Flow): void {
    if (this.#flow !== 'pass') this.#disturbedAt = performance.now();
    this.#flow = flow;
    if (flow === 'refuse') this.cut();
    for (const link of this.#links) link.setFlow(flow);
  }

  /** Breaks all connections, so that both ends notice at once. */
  cut(): void {
    this.#disturbedAt = performance.now();
    for (const link of this.#links) link.cut();
  }

  /** Whether something was wrong here within the last so many ms. */
  wasDisturbedWithin(ms: number): boolean {
    return this.#flow !== 'pass' || performance.now() - this.#disturbedAt < ms;
  }

  /**
   * Waits for this text on its way to the service, lets it pass, keeps back whatever the service answers on that
   * connection, and then breaks it: what was asked is done, and whoever asked does not learn it.
   */
  keepBackReplyTo(text: string, onSprung: () => void): void {
    this.#trap = { text, onSprung };
  }

  disarm(): void {
    this.#trap = undefined;
  }

  /** Whether the connection that the service sees from this port goes through here. */
  owns(localPort: number): boolean {
    return [...this.#links].some((link) => link.upstreamPort === localPort);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #accept(client: Socket): void {
    if (this.#flow === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: this.#target(), host: '127.0.0.1', noDelay: true });
    const link = new Link(client, upstream, this.#delayMs, () => this.#links.delete(link));
    this.#links.add(link);
    link.setFlow(this.#flow);
    client.on('data', (chunk: Buffer) => {
      const trap = this.#trap;
      if (trap === undefined || !chunk.includes(trap.text)) return;
      this.#trap = undefined;
      link.cutAfterSilence();
      trap.onSprung();
    });
  }
}

/** Long enough for a statement to be committed on a busy machine. */
const SILENCE_MS = 1_000;

/** One connection, with both of its ends. */
class Link {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #delayMs: () => number;
  #flow: Flow = 'pass';
  #mute = false;

  constructor(client: Socket, upstream: Socket, delayMs: () => number, onClose: () => void) {
    this.#client = client;
    this.#upstream = upstream;
    this.#delayMs = delayMs;
    this.#carry(client, upstream, () => false);
    this.#carry(upstream, client, () => this.#mute);
    client.on('close', onClose);
  }

  get upstreamPort(): number | undefined {
    return this.#upstream.localPort;
  }

  setFlow(flow: Flow): void {
    this.#flow = flow;
    for (const socket of [this.#client, this.#upstream]) {
      if (flow === 'stall') socket.pause();
      else socket.resume();
    }
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#upstream.resetAndDestroy();
  }

  cutAfterSilence(): void {
    this.#mute = true;
    setTimeout(() => this.cut(), SILENCE_MS);
  }

  #carry(from: Socket, to: Socket, muted: () => boolean): void {
    from.on('data', (chunk: Buffer) => {
      if (muted()) return;
      if (this.#flow === 'slow') {
        from.pause();
        setTimeout(() => {
          to.write(chunk);
          this.#resume(from);
        }, this.#delayMs());
      } else if (!to.write(chunk)) {
        from.pause();
      }
    });
    to.on('drain', () => this.#resume(from));
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }

  #resume(socket: Socket): void {
    if (this.#flow !== 'stall') socket.resume();
  }
}
