/** Renders the same picture as often as its parent asks, in the way it asks, and tells the CPU time of one set. */
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { encoderSettings } from '@stowage/shared/images/encoders.ts';
import type { PictureFormat } from '@stowage/shared/images/picture-format.ts';
import { renderPicture } from '@stowage/shared/images/render-picture.ts';
import { prepareForUntrustedPictures } from '@stowage/shared/images/untrusted-pictures.ts';
import { createIPX, ipxFSStorage } from 'ipx';
import sharp from 'sharp';

/**
 * `stowage`: the renderer of the workers. `pipelines`: one sharp pipeline from the original for each variant.
 * `shared-decode`: sharp, decoding once for each width. `ipx`: one request to ipx for each variant.
 */
export type RenderWay = 'stowage' | 'pipelines' | 'shared-decode' | 'ipx';

export interface RenderOrder {
  readonly way: RenderWay;
  readonly path: string;
  readonly widths: readonly number[];
  readonly formats: readonly PictureFormat[];
  readonly times: number;
}

export interface RenderReport {
  /** CPU time of one set, in ms. */
  readonly cpuMs: number;
  /** Wall time of each set, in ms. */
  readonly wallMs: readonly number[];
}

const LIMITS = { maxInputPixels: 100_000_000, timeoutSeconds: 120 };

prepareForUntrustedPictures();

process.on('message', (message) => {
  // Only render-sets.ts starts this program, with RenderOrders.
  run(message as RenderOrder).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function run(order: RenderOrder): Promise<RenderReport> {
  const bytes = await readFile(order.path);
  const wallMs: number[] = [];
  const before = process.cpuUsage();
  for (let time = 0; time < order.times; time += 1) {
    const startedAt = performance.now();
    await WAYS[order.way](bytes, order);
    wallMs.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1_000 / order.times, wallMs };
}

const WAYS: Record<RenderWay, (bytes: Buffer, order: RenderOrder) => Promise<void>> = {
  async stowage(bytes, { widths, formats }) {
    await renderPicture(bytes, { cause: 'ahead', widths, formats }, LIMITS, async () => undefined);
  },

  async pipelines(bytes, { widths, formats }) {
    for (const width of widths) {
      for (const format of formats) {
        const picture = sharp(bytes, { failOn: 'error' }).autoOrient().resize(width);
        await picture.toFormat(format, encoderSettings(format, 'ahead')).toBuffer();
      }
    }
  },

  async 'shared-decode'(bytes, { widths, formats }) {
    for (const width of widths) {
      const decoded = sharp(bytes, { failOn: 'error' }).autoOrient().resize(width);
      const { data, info } = await decoded.raw().toBuffer({ resolveWithObject: true });
      const { width: across, height, channels } = info;
      for (const format of formats) {
        const picture = sharp(data, { raw: { width: across, height, channels } });
        await picture.toFormat(format, encoderSettings(format, 'ahead')).toBuffer();
      }
    }
  },

  async ipx(_bytes, { path, widths, formats }) {
    const ipx = createIPX({ storage: ipxFSStorage({ dir: dirname(path) }) });
    for (const width of widths) {
      for (const format of formats) {
        await ipx(basename(path), { width: String(width), format, quality: '80' }).process();
      }
    }
  },
};
