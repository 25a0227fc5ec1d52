import { join } from 'node:path';
import { findFreePort } from '../../start/postgres/embedded-postgres.ts';
import { type Flow, TcpProxy } from '../proxies/tcp-proxy.ts';
import type { Random } from '../random.ts';
import type { Tally } from '../tally.ts';
import {
  type Addresses,
  type Credentials,
  ENTRIES,
  PROCESS_KINDS,
  type ProcessKind,
  processEnvironment,
} from './environment.ts';
import { ManagedProcess, orderedEnd } from './managed-process.ts';

export const SERVICE_NAMES = ['postgres', 'redis', 's3'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

export interface FleetOptions {
  readonly folder: string;
  readonly faultsFolder: string;
  readonly random: Random;
  readonly tally: Tally;
  /** Where each service is. Of S3 it is the proxy that understands HTTP. */
  readonly ports: Readonly<Record<ServiceName, () => number>>;
  readonly databaseUrlAt: (port: number) => string;
  readonly credentials: Credentials;
}

export interface Member {
  readonly process: ManagedProcess;
  readonly proxies: Readonly<Record<ServiceName, TcpProxy>>;
}

/** All processes of Stowage, two of each kind, each with its own lines to the services. */
export class Fleet {
  readonly members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.members = members;
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const members: Member[] = [];
    for (const kind of PROCESS_KINDS)
      for (const number of [1, 2]) members.push(await openMember(options, kind, number));
    return new Fleet(members);
  }

  start(): void {
    for (const { process } of this.members) process.start();
  }

  async ready(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.ready()));
  }

  of(kind: ProcessKind): readonly Member[] {
    return this.members.filter(({ process }) => process.kind === kind);
  }

  /** Where the API is asked, on each of its processes. */
  get baseUrls(): readonly string[] {
    return this.of('api').map(({ process }) => `http://127.0.0.1:${process.port}`);
  }

  apiAt(baseUrl: string): Member {
    const index = this.baseUrls.indexOf(baseUrl);
    const found = this.of('api')[index];
    if (found === undefined) throw new Error(`There is no API at ${baseUrl}.`);
    return found;
  }

  setFlow(flow: Flow): void {
    for (const { proxies } of this.members)
      for (const service of SERVICE_NAMES) proxies[service].setFlow(flow);
  }

  /** Undoes what was done to processes and lines. */
  heal(): void {
    this.setFlow('pass');
    for (const { process, proxies } of this.members) {
      process.wake();
      proxies.postgres.disarm();
    }
  }

  async close(): Promise<void> {
    this.heal();
    await Promise.all(this.members.map(({ process }) => process.close()));
    await Promise.all(
      this.members.flatMap(({ proxies }) => SERVICE_NAMES.map((service) => proxies[service].close())),
    );
  }
}

async function openMember(options: FleetOptions, kind: ProcessKind, number: number): Promise<Member> {
  const { folder, faultsFolder, tally, ports } = options;
  const random = options.random.fork(`${kind} ${number}`);
  const delay = () => random.int(5, 80);
  const proxies = {
    postgres: await TcpProxy.open(ports.postgres, delay),
    redis: await TcpProxy.open(ports.redis, delay),
    s3: await TcpProxy.open(ports.s3, delay),
  };
  const addresses: Addresses = {
    databaseUrl: options.databaseUrlAt(proxies.postgres.port),
    redisUrl: `redis://127.0.0.1:${proxies.redis.port}`,
    s3Endpoint: `http://127.0.0.1:${proxies.s3.port}`,
  };
  const [port, opsPort] = [await findFreePort(), await findFreePort()];
  const { credentials } = options;
  const process = new ManagedProcess({
    kind,
    number,
    port,
    opsPort,
    tally,
    entry: ENTRIES[kind],
    env: processEnvironment({ kind, folder, faultsFolder, port, opsPort, addresses, credentials }),
    logFile: join(folder, 'logs', `${kind}-${number}.log`),
    wasOrdered: orderedEnd(faultsFolder),
  });
  return { process, proxies };
}
