import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { StartedProcess } from './started-process.ts';

/** A balancer as simple as they come: it looks at readiness now and then, and passes whole connections on. */
export interface Balancer {
  readonly port: number;
  /** The processes that connections are given to, in turn. */
  use(backends: readonly StartedProcess[]): void;
  close(): Promise<void>;
}

const LOOK_MS = 200;

export async function openBalancer(): Promise<Balancer> {
  let backends: readonly StartedProcess[] = [];
  let ready: readonly StartedProcess[] = [];
  let turn = 0;
  const sockets = new Set<Socket>();

  const look = async () => {
    const candidates = backends;
    const states = await Promise.all(candidates.map((backend) => backend.isReady()));
    if (candidates === backends) ready = candidates.filter((_, index) => states[index]);
  };
  const timer = setInterval(() => void look(), LOOK_MS);

  const server = createServer((near) => {
    const keep = (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    };
    keep(near);
    turn += 1;
    const backend = ready[turn % Math.max(ready.length, 1)];
    if (backend === undefined) return near.destroy();
    const far = connect(backend.port, '127.0.0.1');
    keep(far);
    near.pipe(far);
    far.pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    use(next) {
      backends = next;
      ready = next;
    },
    async close() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
