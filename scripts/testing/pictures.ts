import sharp, { type Sharp } from 'sharp';

export type PictureFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'tiff';

export interface PictureOptions {
  readonly width: number;
  readonly height: number;
  readonly format: PictureFormat;
  /** EXIF orientation 1…8. Width and height are those of the stored, not yet upright pixels. */
  readonly orientation?: number;
  /** Also writes a place and a camera into the EXIF data. */
  readonly gps?: boolean;
  /** The left half is see-through. JPEG has no alpha. */
  readonly alpha?: boolean;
  /** Frames of an animation (GIF and WebP). */
  readonly frames?: number;
  /** JPEG only. */
  readonly progressive?: boolean;
  readonly colours?: 'srgb' | 'grey' | 'cmyk' | 'p3' | '16-bit' | 'palette';
  /** Pictures of different seeds have different bytes. */
  readonly seed?: number;
}

/** A picture that looks and compresses roughly like a photograph. The same options give the same bytes. */
export async function makePicture(options: PictureOptions): Promise<Buffer> {
  const { width, height, format, frames = 1, colours = 'srgb' } = options;
  const channels = options.alpha ? 4 : 3;
  const drawn: Buffer[] = [];
  for (let frame = 0; frame < frames; frame += 1) drawn.push(await drawFrame(options, frame));
  let picture = sharp(frames === 1 ? (drawn[0] as Buffer) : Buffer.concat(drawn), {
    raw: { width, height: height * frames, channels, ...(frames > 1 && { pageHeight: height }) },
    limitInputPixels: false,
  });
  if (colours === 'grey') picture = picture.toColourspace('b-w');
  if (colours === 'cmyk') picture = picture.withIccProfile('cmyk');
  if (colours === 'p3') picture = picture.withIccProfile('p3');
  if (colours === '16-bit') picture = picture.toColourspace('rgb16');
  if (options.gps) {
    picture = picture.withExif({
      IFD0: { Make: 'Stowage Camera', Copyright: 'somebody' },
      IFD3: {
        GPSLatitudeRef: 'N',
        GPSLatitude: '51/1 30/1 3230/100',
        GPSLongitudeRef: 'W',
        GPSLongitude: '0/1 7/1 4366/100',
      },
    });
  }
  if (options.orientation !== undefined) picture = picture.withMetadata({ orientation: options.orientation });
  return await encode(picture, format, options).toBuffer();
}

/**
 * A small, correct JPEG whose header announces other dimensions (each at most 65,535): what a decompression bomb
 * looks like to a reader that trusts the header.
 */
export async function makeJpegBomb(width: number, height: number): Promise<Buffer> {
  const bytes = await makePicture({ width: 64, height: 64, format: 'jpeg' });
  for (let at = 2; at + 9 < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (bytes[at + 1] !== 0xc0) continue;
    bytes.writeUInt16BE(height, at + 5);
    bytes.writeUInt16BE(width, at + 7);
    return bytes;
  }
  throw new Error('the JPEG has no baseline frame header');
}

/** A real, small PNG of one colour that takes width × height × 3 bytes when decoded. */
export async function makePngBomb(width: number, height: number): Promise<Buffer> {
  return await sharp({
    create: { width, height, channels: 3, background: '#123456' },
    limitInputPixels: false,
  })
    .png({ compressionLevel: 9 })
    .toBuffer();
}

async function drawFrame(options: PictureOptions, frame: number): Promise<Buffer> {
  const { width, height } = options;
  const seed = (options.seed ?? 1) * 1_000 + frame;
  // Broad light and shadow, with finer structure laid over it.
  const broad = noise(seed, Math.ceil(width / 200) + 2, Math.ceil(height / 200) + 2);
  const fine = noise(seed + 500, Math.ceil(width / 6) + 2, Math.ceil(height / 6) + 2);
  const detail = await sharp(fine.pixels, { raw: fine.raw })
    .resize(width, height, { fit: 'fill' })
    .raw()
    .toBuffer();
  const { data } = await sharp(broad.pixels, { raw: broad.raw })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .composite([{ input: detail, raw: { width, height, channels: 3 }, blend: 'soft-light' }])
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return options.alpha ? withAlpha(data, width, height) : data;
}

function withAlpha(rgb: Buffer, width: number, height: number): Buffer {
  const rgba = Buffer.alloc(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    rgb.copy(rgba, pixel * 4, pixel * 3, pixel * 3 + 3);
    rgba[pixel * 4 + 3] = pixel % width < width / 2 ? 0 : 255;
  }
  return rgba;
}

/** A field of random colours, the same for the same seed (xorshift32). */
function noise(seed: number, width: number, height: number) {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  const pixels = Buffer.alloc(width * height * 3);
  for (let index = 0; index < pixels.length; index += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    pixels[index] = state & 0xff;
  }
  return { pixels, raw: { width, height, channels: 3 as const } };
}

function encode(picture: Sharp, format: PictureFormat, options: PictureOptions): Sharp {
  switch (format) {
    case 'jpeg':
      return picture.jpeg({ quality: 85, progressive: options.progressive ?? false });
    case 'png':
      return picture.png({ palette: options.colours === 'palette' });
    case 'webp':
      return picture.webp({ effort: 1 });
    case 'gif':
      return picture.gif({ effort: 1 });
    case 'avif':
      return picture.avif({ effort: 0 });
    case 'tiff':
      return picture.tiff({ compression: 'deflate' });
  }
}
