import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import type { Stowage } from '../rig/stowage.ts';
import { uploadBody } from '../rig/upload-body.ts';
import { percentile } from '../statistics.ts';

const SECONDS = 6;
/** Readers of pictures that nobody has asked for before, each from an address of its own. */
const READERS = 48;

/** What readers get when more thumbnails are asked for than can be rendered. */
export const overload: Part = {
  name: 'overload',
  about:
    'a burst for one new picture, more uncached renders than there is room for, and cached reads beside them',
  async run(rig) {
    return await rig.withStowage({}, async (stowage) => {
      const bytes = await rig.pictures.small();
      const body = uploadBody(bytes, 'picture.jpg');
      const names = await Promise.all(Array.from({ length: READERS + 1 }, () => stowage.client.upload(body)));
      const [name = ''] = names;
      const thumbnail = (width: number, of = name) => `/${of.replace('.', `_${width}.`)}`;
      // Every reader has a picture, of which each width is asked for once.
      const widths = (of: string) => Array.from({ length: 300 }, (_, index) => thumbnail(300 + index, of));
      await fetch(`${stowage.url}${thumbnail(99)}`);

      const rendersOf16 = await rendersDuring(stowage, async () => {
        await Promise.all(
          Array.from({ length: 16 }, async () =>
            (await fetch(`${stowage.url}${thumbnail(98)}`)).arrayBuffer(),
          ),
        );
      });

      const alone = await load({
        url: stowage.url,
        connections: 1,
        amount: 60,
        pathsByConnection: [widths(name)],
      });

      const hot = `${stowage.url}${thumbnail(99)}`;
      const saturation = await load({ url: hot, connections: 16, seconds: 3 });
      const half = saturation.perSecond / 2;
      // Three times what could be rendered if nothing else were to do.
      const floodPerSecond = (3 * availableParallelism() * 1_000) / percentile(alone.latenciesMs, 50);
      const flood = load({
        url: stowage.url,
        connections: READERS,
        seconds: SECONDS,
        rate: Math.round(floodPerSecond),
        headersByConnection: Array.from({ length: READERS }, (_, index) => ({
          'x-forwarded-for': `10.0.0.${index}`,
        })),
        pathsByConnection: names.slice(1).map(widths),
      });
      await sleep(1_000);
      const beside = await load({ url: hot, connections: 16, seconds: SECONDS - 2, rate: Math.round(half) });
      const flooded = await flood;
      const refused = flooded.statuses[503] ?? 0;
      return [
        {
          what: 'renders for 16 identical requests at once',
          unit: 'renders',
          ours: rendersOf16,
          target: { atMost: 1 },
        },
        {
          what: 'refusals beyond the queue that say when to try again',
          unit: 'of all',
          ours: refused === 0 ? Number.NaN : flooded.retryAfter / refused,
          target: { atLeast: 1 },
          note: `${flooded.latenciesMs.length} accepted, ${refused} refused`,
        },
        {
          what: 'accepted uncached renders under overload, p95',
          unit: 'ms',
          ours: percentile(flooded.latenciesMs, 95),
          counterpart: { name: 'unloaded', value: percentile(alone.latenciesMs, 95) },
          target: { atMost: 3 },
        },
        {
          what: 'cached reads at half saturation beside that overload',
          unit: 'per s',
          ours: beside.perSecond,
          counterpart: { name: 'asked for', value: half },
          target: { atLeast: 0.8 },
        },
      ];
    });
  },
};

async function rendersDuring(stowage: Stowage, work: () => Promise<void>): Promise<number> {
  const count = () => stowage.metric('stowage_renders_total', 'cause="request"');
  const before = await count();
  await work();
  return (await count()) - before;
}
