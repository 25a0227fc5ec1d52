import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_NAMES } from '../fleet/fleet.ts';
import type { Flow, TcpProxy } from '../proxies/tcp-proxy.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';
import type { Fault } from './fault.ts';

/** Stalls end before a second removal of objects: what was on its way arrives in time for that, as in production. */
const LASTS_MS = { least: 500, most: 6_000 };

const FLOWS: readonly { readonly flow: Flow; readonly word: string }[] = [
  { flow: 'refuse', word: 'refused' },
  { flow: 'stall', word: 'stalled' },
  { flow: 'slow', word: 'slowed' },
];

/** Connections between processes and services: cut, refused, stalled, slowed; of one process or of all. */
export const NETWORK: readonly Fault[] = SERVICE_NAMES.flatMap((service) => [
  {
    kind: 'network' as const,
    label: `connections to ${service} cut`,
    async run(world: World, random: Random) {
      for (const proxy of some(world, service, random)) proxy.cut();
      return true;
    },
  },
  ...FLOWS.map(
    ({ flow, word }): Fault => ({
      kind: 'network',
      label: `connections to ${service} ${word}`,
      async run(world, random) {
        const proxies = some(world, service, random);
        for (const proxy of proxies) proxy.setFlow(flow);
        await sleep(random.int(LASTS_MS.least, LASTS_MS.most));
        for (const proxy of proxies) proxy.setFlow('pass');
        return true;
      },
    }),
  ),
]);

function some({ fleet }: World, service: (typeof SERVICE_NAMES)[number], random: Random): TcpProxy[] {
  const members = random.chance(0.5) ? fleet.members : [random.pick(fleet.members)];
  return members.map(({ proxies }) => proxies[service]);
}
