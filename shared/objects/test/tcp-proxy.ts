import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly url: string;
  /** Stops passing bytes on, both ways, on all connections, until `resume`. Connections stay open. */
  stall(): void;
  resume(): void;
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** Stands between a client and a server and makes trouble on demand. */
export async function openTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let stalled = false;

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!to.write(chunk)) from.pause();
      });
      to.on('drain', () => {
        if (!stalled) from.resume();
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (stalled) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stall() {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      stalled = false;
      for (const socket of sockets) socket.resume();
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
