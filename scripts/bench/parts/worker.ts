import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { cpuMs } from '../rig/processes.ts';
import { createRenderSets, WIDTHS } from '../rig/render-sets.ts';
import { allRendered, uploadPictures } from '../rig/renders.ts';
import type { Rig, StowageWanted } from '../rig/rig.ts';
import { median } from '../statistics.ts';

const ROUNDS = 3;
const PICTURES = 8;

/** The thumbnails worker with all it does (queue, database, object store), against the render alone. */
export const worker: Part = {
  name: 'worker',
  about: 'CPU of the thumbnails worker per set, against the render alone',
  async run(rig) {
    const lines = [await measure(rig, 'embedded parts', {})];
    if (rig.redis !== undefined && rig.s3 !== undefined)
      lines.push(await measure(rig, 'Redis and S3', { redis: true, s3: true }));
    return lines;
  },
};

async function measure(rig: Rig, name: string, wanted: StowageWanted): Promise<Line> {
  const bytes = await rig.pictures.large('jpeg');
  const path = join(rig.folder, 'worker.jpeg');
  await writeFile(path, bytes);
  const sets = createRenderSets();
  try {
    return await rig.withStowage(wanted, async (stowage) => {
      const thumbnails = await stowage.startWorker('thumbnails');
      const worked = async () => {
        const before = await cpuMs([thumbnails.pid]);
        await uploadPictures(stowage, bytes, PICTURES);
        await allRendered(stowage);
        return ((await cpuMs([thumbnails.pid])) - before) / PICTURES;
      };
      const rendered = async () =>
        (
          await sets.render({
            way: 'stowage',
            path,
            widths: WIDTHS,
            formats: ['jpeg', 'webp'],
            times: PICTURES,
          })
        ).cpuMs;
      // Warm: what starts the render children is not part of a set.
      await worked();
      await rendered();
      const ours: number[] = [];
      const alone: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        ours.push(await worked());
        alone.push(await rendered());
      }
      return {
        what: `worker, CPU per set of a 12 MP JPEG, all in, ${name}`,
        unit: 'ms CPU',
        ours: median(ours),
        counterpart: { name: 'render alone', value: median(alone) },
        target: { atMost: 1.1 },
      };
    });
  } finally {
    sets.close();
  }
}
