import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { makePicture, type PictureOptions } from '../../testing/pictures.ts';

export type LargeKind = 'jpeg' | 'progressive' | 'png';

/** The pictures that are measured with: made here, so that every machine has the same. */
export interface Pictures {
  /** A JPEG of 12 megapixels, 4:3, or a PNG of 1.5. */
  large(kind: LargeKind): Promise<Buffer>;
  /** 2 megapixels: a photograph from a web page. */
  small(): Promise<Buffer>;
  /** About 100 KB, a JPEG. */
  tiny(): Promise<Buffer>;
  /** Real photographs of the folder given with --images, by their names: JPEG, 2 megapixels or more. */
  real(): Promise<Map<string, Buffer>>;
}

export function createPictures(images: string | undefined): Pictures {
  const made = new Map<string, Promise<Buffer>>();
  const once = (options: PictureOptions): Promise<Buffer> => {
    const key = JSON.stringify(options);
    const picture = made.get(key) ?? makePicture(options);
    made.set(key, picture);
    return picture;
  };
  const photographs = new Map<LargeKind, Promise<Buffer>>();
  const photograph = (kind: LargeKind): Promise<Buffer> => {
    const picture = photographs.get(kind) ?? makePhotograph(kind);
    photographs.set(kind, picture);
    return picture;
  };
  return {
    large: photograph,
    small: () => once({ width: 1632, height: 1224, format: 'jpeg' }),
    tiny: () => once({ width: 640, height: 480, format: 'jpeg' }),
    async real() {
      const pictures = new Map<string, Buffer>();
      if (images === undefined) return pictures;
      for (const name of (await readdir(images)).sort()) {
        if (!/\.jpe?g$/i.test(name)) continue;
        const bytes = await readFile(join(images, name));
        const header = await sharp(bytes)
          .metadata()
          .catch(() => undefined);
        const pixels = (header?.width ?? 0) * (header?.height ?? 0);
        if (pixels >= 2_000_000 && pixels < 100_000_000) pictures.set(name, bytes);
      }
      return pictures;
    },
  };
}

/**
 * As from a camera: smooth at the size of a thumbnail, with the grain of a sensor at its own. The grain makes the
 * file large and slow to decode, and is gone when the picture is small.
 */
async function makePhotograph(kind: LargeKind): Promise<Buffer> {
  const size = kind === 'png' ? { width: 1500, height: 1000 } : { width: 4000, height: 3000 };
  const drawn = await makePicture({ width: size.width / 4, height: size.height / 4, format: 'png' });
  const noise = { type: 'gaussian' as const, mean: 128, sigma: kind === 'png' ? 5 : 30 };
  const grain = await sharp({ create: { ...size, channels: 3, background: '#808080', noise } })
    .raw()
    .toBuffer();
  const smooth = await sharp(drawn)
    .removeAlpha()
    .resize(size.width, size.height, { kernel: 'cubic' })
    .raw()
    .toBuffer();
  const raw = { ...size, channels: 3 as const };
  const picture = sharp(smooth, { raw })
    .composite([{ input: grain, raw, blend: 'soft-light' }])
    .removeAlpha();
  if (kind === 'png') return await picture.png().toBuffer();
  return await picture.jpeg({ quality: 92, progressive: kind === 'progressive' }).toBuffer();
}
