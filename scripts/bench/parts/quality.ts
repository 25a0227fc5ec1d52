import { renderPicture } from '@stowage/shared/images/render-picture.ts';
import type { RenderedVariant } from '@stowage/shared/images/render-request.ts';
import sharp from 'sharp';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { WIDTHS } from '../rig/render-sets.ts';

const LIMITS = { maxInputPixels: 100_000_000, timeoutSeconds: 60 };

/** The pixels of our variants against those of a direct resize of the original, before any lossy encoder. */
export const quality: Part = {
  name: 'quality',
  about: 'difference of our pixels to a direct render',
  async run({ pictures }) {
    const sources = new Map([['12 MP JPEG', await pictures.large('jpeg')], ...(await pictures.real())]);
    const lines: Line[] = [];
    for (const [name, bytes] of sources) {
      const variants: RenderedVariant[] = [];
      // PNG keeps every pixel as it was rendered.
      await renderPicture(
        bytes,
        { cause: 'ahead', widths: WIDTHS, formats: ['png'] },
        LIMITS,
        async (variant) => {
          variants.push(variant);
        },
      );
      let worst = 0;
      let wrongSizes = 0;
      for (const variant of variants) {
        const expected = await directPixels(bytes, variant.width);
        const own = await sharp(variant.bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        const isRight = own.info.width === expected.info.width && own.info.height === expected.info.height;
        if (isRight) worst = Math.max(worst, meanDifference(own.data, expected.data));
        else wrongSizes += 1;
      }
      lines.push({
        what: `mean difference of a pixel to the direct render, worst width, ${name}`,
        unit: 'of 255',
        ours: worst,
        target: { atMost: 1 },
      });
      lines.push({
        what: `variants of other dimensions, ${name}`,
        unit: 'of 5',
        ours: wrongSizes,
        target: { atMost: 0 },
      });
    }
    return lines;
  },
};

/** What sharp makes of the original for this one width. */
async function directPixels(bytes: Buffer, width: number) {
  const picture = sharp(bytes).autoOrient().toColourspace('srgb').resize(width);
  return await picture.removeAlpha().raw().toBuffer({ resolveWithObject: true });
}

function meanDifference(a: Buffer, b: Buffer): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += Math.abs((a[at] ?? 0) - (b[at] ?? 0));
  return sum / a.length;
}
