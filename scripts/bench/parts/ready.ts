import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../part.ts';
import { allRendered, isRendered, uploadPictures } from '../rig/renders.ts';
import { uploadBody } from '../rig/upload-body.ts';
import { percentile } from '../statistics.ts';

const PICTURES = 40;

/** From the reply to an upload until all variants are there, while the worker is at half of what it can do. */
export const ready: Part = {
  name: 'ready',
  about: 'from the reply to an upload until all variants are ready, at half load',
  async run(rig) {
    return await rig.withStowage({ redis: true, s3: true }, async (stowage) => {
      await stowage.startWorker('thumbnails');
      const bytes = await rig.pictures.small();
      await uploadPictures(stowage, bytes, 8);
      await allRendered(stowage);
      const startedAt = performance.now();
      await uploadPictures(stowage, bytes, 24);
      await allRendered(stowage);
      const everyMs = (2 * (performance.now() - startedAt)) / 24;

      const body = uploadBody(bytes, 'picture.jpg');
      const oneAfter = async (ms: number) => {
        await sleep(ms);
        const name = await stowage.client.upload(body);
        const repliedAt = performance.now();
        while (!(await isRendered(stowage, name))) await sleep(10);
        return performance.now() - repliedAt;
      };
      const waits = await Promise.all(
        Array.from({ length: PICTURES }, (_, index) => oneAfter(index * everyMs)),
      );
      return [
        {
          what: 'from the reply to all variants of a 2 MP photograph, p95, at half load',
          unit: 's',
          ours: percentile(waits, 95) / 1_000,
          target: { atMost: 1 },
          note: `one every ${Math.round(everyMs)} ms`,
        },
      ];
    });
  },
};
