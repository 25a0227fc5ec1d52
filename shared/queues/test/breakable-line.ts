import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A line to a server that can be cut, frozen and mended, as networks are. */
export interface BreakableLine {
  readonly url: string;
  /** Connections that were tried since the line was opened. */
  readonly tried: () => number;
  /** Ends all connections and takes no more. */
  cut(): void;
  /** Takes connections and bytes, and passes nothing on. */
  freeze(): void;
  /** The connections that are open pass nothing on any more, and never end. New ones work. */
  lose(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function openBreakableLine(target: string, defaultPort: number): Promise<BreakableLine> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const lost = new WeakSet<Socket>();
  let state: 'whole' | 'cut' | 'frozen' = 'whole';
  let tried = 0;

  const server = createServer((near) => {
    tried += 1;
    near.on('error', () => near.destroy());
    if (state === 'cut') return near.destroy();
    const far = connect(Number(port || defaultPort), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk) => state === 'whole' && !lost.has(from) && to.write(chunk));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  const address = server.address();
  url.host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    tried: () => tried,
    cut() {
      state = 'cut';
      endAll();
    },
    freeze() {
      state = 'frozen';
    },
    lose() {
      for (const socket of sockets) lost.add(socket);
    },
    mend() {
      // What was swallowed is missing from its connection.
      if (state === 'frozen') endAll();
      state = 'whole';
    },
    async close() {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
