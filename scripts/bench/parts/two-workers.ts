import type { Part } from '../part.ts';
import { allRendered, uploadPictures } from '../rig/renders.ts';
import type { Rig } from '../rig/rig.ts';
import { median } from '../statistics.ts';

const ROUNDS = 3;
const PICTURES = 32;

/** Pictures a second of two thumbnails workers, each on a core of its own, against one. */
export const twoWorkers: Part = {
  name: 'two-workers',
  about: 'two thumbnails workers, each pinned to a core, against one',
  async run(rig) {
    const one: number[] = [];
    const two: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      one.push(await rate(rig, [0]));
      two.push(await rate(rig, [0, 1]));
    }
    return [
      {
        what: 'pictures (2 MP) per second, two workers pinned to a core each',
        unit: 'per s',
        ours: median(two),
        counterpart: { name: 'one worker', value: median(one) },
        target: { atLeast: 1.8 },
      },
    ];
  },
};

/** The workers find all pictures waiting; from the first one rendered to the last. */
async function rate(rig: Rig, cores: readonly number[]): Promise<number> {
  return await rig.withStowage({ redis: true, s3: true }, async (stowage) => {
    const bytes = await rig.pictures.small();
    const env = { THUMBNAILS_CONCURRENCY: '2' };
    await Promise.all(cores.map((core) => stowage.startWorker('thumbnails', { core, env })));
    await uploadPictures(stowage, bytes, 4 * cores.length);
    await allRendered(stowage);
    const startedAt = performance.now();
    await uploadPictures(stowage, bytes, PICTURES);
    await allRendered(stowage);
    return PICTURES / ((performance.now() - startedAt) / 1_000);
  });
}
