import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from './start-error.ts';

/** The ports of all processes: the one of the API, and an ops port for each. */
export interface Ports {
  readonly port: number;
  readonly opsPorts: readonly number[];
}

export interface PortSettings {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly opsHost: string;
  /** The first of `count` in a row. 0: any free ones. */
  readonly opsPort: number;
  readonly count: number;
}

/**
 * Settles the ports and checks that they are free, so that a second instance is told at once what to change.
 * @throws {StartError} naming the variable of a port that is taken
 */
export async function choosePorts(settings: PortSettings): Promise<Ports> {
  const port = await claim(settings.host, settings.port, 'PORT');
  const opsPorts: number[] = [];
  for (let n = 0; n < settings.count; n += 1) {
    const wanted = settings.opsPort === 0 ? 0 : settings.opsPort + n;
    opsPorts.push(await claim(settings.opsHost, wanted, 'OPS_PORT'));
  }
  return { port, opsPorts };
}

/** A port that was free on the host a moment ago; `wanted` 0 means any. */
export async function claim(host: string, wanted: number, variable: string): Promise<number> {
  const server = createServer();
  try {
    server.listen(wanted, host);
    await once(server, 'listening');
  } catch (cause) {
    throw new StartError(portFault(host, wanted, variable, cause), { cause });
  }
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string')
    throw new Error('a TCP server has an address and a port');
  return address.port;
}

function portFault(host: string, port: number, variable: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return `Port ${port} on ${host} is taken by another program: set ${variable}.`;
  if (code === 'EACCES') return `Port ${port} needs more rights than this user has: set ${variable}.`;
  return `Port ${port} on ${host} cannot be used (${code ?? 'unknown reason'}): see ${variable} and ${variable.replace('PORT', 'HOST')}.`;
}
