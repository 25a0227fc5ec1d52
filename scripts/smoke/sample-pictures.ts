import sharp from 'sharp';
import { makePicture } from '../testing/pictures.ts';
import type { UploadFile } from './client.ts';

export interface Sample extends UploadFile {
  readonly extension: string;
  readonly format: string;
  /** Of the upright picture. */
  readonly width: number;
  readonly height: number;
}

/** Pictures as people upload them: a turned photograph of two megapixels, a PNG with alpha, a WebP, a moving GIF. */
export async function samplePictures(): Promise<Sample[]> {
  const photograph = await makePicture({
    width: 1632,
    height: 1224,
    format: 'jpeg',
    orientation: 6,
    gps: true,
  });
  const drawing = await makePicture({ width: 900, height: 600, format: 'png', alpha: true, seed: 2 });
  const webp = await makePicture({ width: 700, height: 500, format: 'webp', seed: 3 });
  const moving = await makePicture({ width: 320, height: 240, format: 'gif', frames: 5, seed: 4 });
  return [
    sample('holiday.jpg', photograph, 'jpg', 'jpeg', 'image/jpeg', 1224, 1632),
    sample('drawing.png', drawing, 'png', 'png', 'image/png', 900, 600),
    sample('page.webp', webp, 'webp', 'webp', 'image/webp', 700, 500),
    sample('moving.gif', moving, 'gif', 'gif', 'image/gif', 320, 240),
  ];
}

function sample(
  name: string,
  picture: Buffer,
  extension: string,
  format: string,
  type: string,
  width: number,
  height: number,
): Sample {
  return { name, type, bytes: new Uint8Array(picture), extension, format, width, height };
}

export interface Measured {
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly pages: number;
  /** True when the file says where or with what it was taken. */
  readonly hasMetadata: boolean;
}

/** Decodes every pixel of a picture and measures it. */
export async function measure(bytes: Uint8Array): Promise<Measured> {
  const image = sharp(bytes, { animated: true, failOn: 'error' });
  const { format, width, height, pages = 1, pageHeight = height, exif, orientation } = await image.metadata();
  await image.raw().toBuffer();
  return {
    format,
    width,
    height: pageHeight,
    pages,
    hasMetadata: exif !== undefined || orientation !== undefined,
  };
}
