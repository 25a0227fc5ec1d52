import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@stowage/shared/config/config.ts';
import { type Db, openDatabase } from '@stowage/shared/database/open-database.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import { objectStoreOptions } from '@stowage/shared/process/open-services.ts';
import { openQueueBackend } from '@stowage/shared/queues/open-queue-backend.ts';
import type { QueueBackend } from '@stowage/shared/queues/queue-backend.ts';
import { prepareServices } from '../start/prepare-services.ts';
import { processEnvironment } from './fleet/environment.ts';
import { Fleet } from './fleet/fleet.ts';
import { S3Proxy } from './proxies/s3-proxy.ts';
import type { Random } from './random.ts';
import { type Disk, openDisk } from './services/disk.ts';
import { openPostgres } from './services/postgres.ts';
import { openRedis, type RedisService } from './services/redis.ts';
import { openS3 } from './services/s3.ts';
import type { Service } from './services/service.ts';
import type { Tally } from './tally.ts';
import { TIMINGS } from './timings.ts';

/** Everything that runs, and the suite's own way to each service, past all proxies. */
export interface World {
  readonly folder: string;
  readonly faultsFolder: string;
  /** Of a program that reaches the services past all proxies. */
  readonly environment: NodeJS.ProcessEnv;
  readonly tally: Tally;
  readonly services: readonly Service[];
  readonly redis: RedisService;
  readonly disk: Disk;
  readonly s3Proxy: S3Proxy;
  readonly fleet: Fleet;
  readonly db: Db;
  readonly store: ObjectStore;
  readonly backend: QueueBackend;
  /** Whether the API's process at this address had trouble reaching Postgres just now. */
  isBlind(baseUrl: string): boolean;
  /** Ends all faults and brings everything back. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** The longest that a statement is waited for, and some time to try again. */
const BLIND_MS = 8_000;

export async function openWorld(options: {
  readonly folder: string;
  readonly tally: Tally;
  readonly random: Random;
}): Promise<World> {
  const { folder, tally, random } = options;
  const releases: (() => unknown)[] = [];
  const onClose = <T>(resource: T, release: (resource: T) => unknown): T => {
    releases.push(() => release(resource));
    return resource;
  };
  const close = async () => {
    for (let release = releases.pop(); release !== undefined; release = releases.pop()) {
      try {
        await release();
      } catch (error) {
        tally.say(`could not be released: ${error}`);
      }
    }
  };
  try {
    mkdirSync(join(folder, 'logs'));
    const faultsFolder = join(folder, 'faults');
    mkdirSync(faultsFolder);
    writeFileSync(join(faultsFolder, 'timings.json'), JSON.stringify(TIMINGS));

    const postgres = onClose(await openPostgres(folder), (service) => service.close());
    const redis = onClose(await openRedis(folder), (service) => service.close());
    const disk = onClose(openDisk(folder), (opened) => opened.close());
    const s3 = onClose(await openS3(folder, disk), (service) => service.close());
    const services = [postgres, redis, s3];
    const s3Proxy = onClose(
      await S3Proxy.open({
        target: () => s3.port,
        random: random.fork('s3 proxy'),
        onFault: (fault, operation) => tally.count('S3 requests made to fail', `${operation}: ${fault}`),
      }),
      (proxy) => proxy.close(),
    );

    const env = processEnvironment({
      folder,
      faultsFolder,
      kind: 'mail',
      port: 0,
      opsPort: 0,
      credentials: s3,
      addresses: {
        databaseUrl: postgres.urlAt(postgres.port),
        redisUrl: `redis://127.0.0.1:${redis.port}`,
        s3Endpoint: `http://127.0.0.1:${s3.port}`,
      },
    });
    const config = loadConfig(env);
    await prepareServices(config);
    const db = onClose(
      openDatabase({
        url: config.databaseUrl,
        poolSize: 6,
        applicationName: 'crash',
        statementTimeoutMs: 30_000,
        onIdleError: () => undefined,
      }),
      (opened) => opened.destroy(),
    );
    const store = onClose(openObjectStore(objectStoreOptions(config)), (opened) => opened.close());
    const logger = createLogger({ name: 'crash', level: 'silent' });
    const backend = onClose(
      openQueueBackend({ kind: 'redis', url: `redis://127.0.0.1:${redis.port}` }, logger),
      (opened) => opened.close(),
    );

    const fleet = onClose(
      await Fleet.open({
        folder,
        faultsFolder,
        tally,
        random: random.fork('fleet'),
        ports: { postgres: () => postgres.port, redis: () => redis.port, s3: () => s3Proxy.port },
        databaseUrlAt: postgres.urlAt,
        credentials: s3,
      }),
      (opened) => opened.close(),
    );
    fleet.start();
    await fleet.ready();

    return {
      folder,
      faultsFolder,
      environment: env,
      tally,
      services,
      redis,
      disk,
      s3Proxy,
      fleet,
      db,
      store,
      backend,
      isBlind: (baseUrl) =>
        postgres.wasAwayWithin(BLIND_MS) ||
        fleet.apiAt(baseUrl).proxies.postgres.wasDisturbedWithin(BLIND_MS),
      async heal() {
        s3Proxy.setRules([]);
        disk.empty();
        fleet.heal();
        await Promise.all(services.map((service) => service.ensure()));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
