import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_KINDS } from '../fleet/environment.ts';
import { SERVICE_NAMES } from '../fleet/fleet.ts';
import type { Random } from '../random.ts';
import type { Service } from '../services/service.ts';
import type { World } from '../world.ts';
import type { Fault } from './fault.ts';

/** How long a service stays away, ms. */
const AWAY_MS = { least: 100, most: 4_000 };

/** `kill -9` and SIGTERM of every process and of every service. */
export const ENDS: readonly Fault[] = (['SIGKILL', 'SIGTERM'] as const).flatMap((signal) => {
  const kind = signal === 'SIGKILL' ? 'kill' : 'term';
  const word = signal === 'SIGKILL' ? 'kill -9' : 'SIGTERM';
  return [
    ...PROCESS_KINDS.map(
      (process): Fault => ({
        kind,
        label: `${word} ${process}`,
        run: (world, random) => endProcess(world, process, signal, random),
      }),
    ),
    ...SERVICE_NAMES.map(
      (name): Fault => ({
        kind,
        label: `${word} ${name}`,
        run: (world, random) => endService(serviceNamed(world, name), signal, random),
      }),
    ),
  ];
});

async function endProcess(
  { fleet }: World,
  kind: (typeof PROCESS_KINDS)[number],
  signal: 'SIGKILL' | 'SIGTERM',
  random: Random,
): Promise<boolean> {
  const whole = fleet.of(kind).filter(({ process }) => process.isWhole);
  if (whole.length === 0) return false;
  const { process } = random.pick(whole);
  await (signal === 'SIGKILL' ? process.kill() : process.terminate());
  return true;
}

async function endService(service: Service, signal: 'SIGKILL' | 'SIGTERM', random: Random): Promise<boolean> {
  await service.end(signal);
  await sleep(random.int(AWAY_MS.least, AWAY_MS.most));
  await service.ensure();
  return true;
}

export function serviceNamed({ services }: World, name: Service['name']): Service {
  const found = services.find((service) => service.name === name);
  if (found === undefined) throw new Error(`There is no service ${name}.`);
  return found;
}
