import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { makePicture, type PictureOptions } from '../../testing/pictures.ts';

/** The pictures that are measured with: made here, so that every machine has the same. */
export interface Pictures {
  /** 12 megapixels, 4:3. */
  large(kind: 'jpeg' | 'progressive' | 'png'): Promise<Buffer>;
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
  return {
    large: (kind) =>
      kind === 'png'
        ? once({ width: 1500, height: 1000, format: 'png' })
        : once({ width: 4000, height: 3000, format: 'jpeg', progressive: kind === 'progressive' }),
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
