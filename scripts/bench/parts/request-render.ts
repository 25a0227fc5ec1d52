import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encoderSettings } from '@stowage/shared/images/encoders.ts';
import { createRenderPool, type RenderPool } from '@stowage/shared/images/render-pool.ts';
import type { RenderRequest } from '@stowage/shared/images/render-request.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import { openFilesystemStore } from '@stowage/shared/objects/filesystem/filesystem-store.ts';
import sharp from 'sharp';
import { alternate } from '../alternate.ts';
import type { Part } from '../part.ts';

const ROUNDS = 21;
const ORIGINAL = { width: 4000, height: 3000 };
/** Not one of the widths that are rendered ahead. */
const WIDTH = 500;

/** A thumbnail that a reader waits for: from the original, and from a stored variant. */
export const requestRender: Part = {
  name: 'request-render',
  about: 'time of a thumbnail that is rendered on request, against sharp in the process itself',
  async run({ folder, pictures }) {
    const store = openFilesystemStore({ folder: join(folder, 'request-render') });
    const bytes = await pictures.large('jpeg');
    await store.put('originals/bench/0', bytes, { contentType: 'image/jpeg' });
    for (const width of [512, 1024]) {
      const variant = await sharp(bytes).resize(width).jpeg().toBuffer();
      await store.put(`variants/bench/${width}`, variant, { contentType: 'image/jpeg' });
    }
    const path = join(folder, 'request.jpeg');
    await writeFile(path, bytes);
    const pool = createRenderPool({
      children: 1,
      deadlineMs: 60_000,
      maxInputPixels: 100_000_000,
      logger: createLogger({ name: 'bench', level: 'error' }),
    });
    const fromStore = (key: string, width: number) => () =>
      timed(() =>
        renderOne(pool, { cause: 'request', widths: [width], formats: ['jpeg'], original: ORIGINAL }, () =>
          store.get(key),
        ),
      );
    const bare = (width: number) => () =>
      timed(async () => {
        const picture = sharp(await readFile(path))
          .autoOrient()
          .resize(width);
        await picture.jpeg(encoderSettings('jpeg', 'request')).toBuffer();
      });
    try {
      const original = await alternate(ROUNDS, {
        ours: fromStore('originals/bench/0', WIDTH),
        bare: bare(WIDTH),
      });
      const to512 = await alternate(ROUNDS, { ours: fromStore('variants/bench/1024', 512), bare: bare(512) });
      const to256 = await alternate(ROUNDS, { ours: fromStore('variants/bench/512', 256), bare: bare(256) });
      const line = (what: string, { ours, bare: value }: { ours: number; bare: number }, atMost: number) => ({
        what,
        unit: 'ms',
        ours,
        counterpart: { name: 'bare sharp from the original', value },
        target: { atMost },
      });
      return [
        line('request-time render from the original, in its child process', original, 1.2),
        line('request-time render of 512 px from a stored variant', to512, 1 / 2.5),
        line('request-time render of 256 px from a stored variant', to256, 1 / 4),
      ];
    } finally {
      await pool.close();
      await store.close();
    }
  },
};

async function renderOne(
  pool: RenderPool,
  request: RenderRequest,
  openSource: Parameters<RenderPool['render']>[0]['openSource'],
): Promise<void> {
  await pool.render({ request, openSource, onVariant: () => undefined });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
