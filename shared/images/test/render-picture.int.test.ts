import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, describe, expect, test } from 'vitest';
import {
  makeJpegBomb,
  makePicture,
  makePngBomb,
  type PictureOptions,
} from '../../../scripts/testing/pictures.ts';
import { createLogger } from '../../logging/create-logger.ts';
import type { PictureFormat } from '../picture-format.ts';
import { createRenderPool } from '../render-pool.ts';
import type { RenderedVariant, RenderRequest } from '../render-request.ts';
import { configuredFormats, configuredVariants } from '../variant-settings.ts';

const WIDTHS = [64, 128, 256];
const pool = createRenderPool({
  children: 1,
  deadlineMs: 30_000,
  maxInputPixels: 100_000_000,
  logger: createLogger({ name: 'test', level: 'silent' }),
});
afterAll(() => pool.close());

async function render(bytes: Uint8Array, request: Partial<RenderRequest>) {
  const variants: RenderedVariant[] = [];
  const picture = await pool.render({
    request: { cause: 'ahead', widths: WIDTHS, formats: ['jpeg', 'webp'], ...request },
    openSource: async () => ({ stream: Readable.from([bytes]), length: bytes.length }),
    onVariant: (variant) => variants.push(variant),
  });
  return { picture, variants };
}

async function renderOne(bytes: Uint8Array, width: number, format: PictureFormat): Promise<Uint8Array> {
  const { variants } = await render(bytes, { cause: 'request', widths: [width], formats: [format] });
  expect(variants).toHaveLength(1);
  return variants[0]!.bytes;
}

async function pixelsOf(bytes: Uint8Array) {
  return await sharp(bytes).removeAlpha().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
}

/** 0…255, over all channels of all pixels. */
async function meanDifference(one: Uint8Array, other: Uint8Array): Promise<number> {
  const [a, b] = [await pixelsOf(one), await pixelsOf(other)];
  expect([a.info.width, a.info.height]).toEqual([b.info.width, b.info.height]);
  let sum = 0;
  for (let index = 0; index < a.data.length; index += 1) sum += Math.abs(a.data[index]! - b.data[index]!);
  return sum / a.data.length;
}

async function colourAt(bytes: Uint8Array, x: number, y: number): Promise<number[]> {
  const { data, info } = await pixelsOf(bytes);
  return [...data.subarray((y * info.width + x) * info.channels).subarray(0, 3)];
}

describe('formats', () => {
  const pictures: [string, PictureOptions][] = [
    ['a JPEG', { width: 301, height: 199, format: 'jpeg' }],
    ['a progressive JPEG', { width: 301, height: 199, format: 'jpeg', progressive: true }],
    ['a grey JPEG', { width: 301, height: 199, format: 'jpeg', colours: 'grey' }],
    ['a CMYK JPEG', { width: 301, height: 199, format: 'jpeg', colours: 'cmyk' }],
    ['a wide-gamut JPEG', { width: 301, height: 199, format: 'jpeg', colours: 'p3' }],
    ['a PNG', { width: 301, height: 199, format: 'png' }],
    ['a PNG with alpha', { width: 301, height: 199, format: 'png', alpha: true }],
    ['a 16-bit PNG', { width: 301, height: 199, format: 'png', colours: '16-bit' }],
    ['a grey PNG', { width: 301, height: 199, format: 'png', colours: 'grey' }],
    ['a palette PNG', { width: 301, height: 199, format: 'png', colours: 'palette' }],
    ['a WebP', { width: 301, height: 199, format: 'webp' }],
    ['a still GIF', { width: 301, height: 199, format: 'gif' }],
    ['an AVIF', { width: 301, height: 199, format: 'avif' }],
    ['a TIFF', { width: 301, height: 199, format: 'tiff' }],
  ];

  test.each(pictures)('%s has every variant, in exactly its size, in sRGB', async (_, options) => {
    const formats = configuredFormats(options.format);
    const { picture, variants } = await render(await makePicture(options), { formats });
    expect(picture).toEqual({ width: 301, height: 199, frames: 1 });
    const made = variants.map(({ width, height, format }) => `${width} ${height} ${format}`);
    const wanted = configuredVariants({ width: 301, height: 199 }, options.format, WIDTHS);
    expect(made.toSorted()).toEqual(wanted.map((v) => `${v.width} ${v.height} ${v.format}`).toSorted());
    for (const variant of variants) {
      const read = await sharp(variant.bytes).metadata();
      expect(read.format === 'heif' ? 'avif' : read.format).toBe(variant.format);
      expect([read.width, read.height]).toEqual([variant.width, variant.height]);
      expect(['srgb', 'b-w']).toContain(read.space);
      expect(read.depth).toBe('uchar');
      expect(read.hasAlpha).toBe(variant.format === 'gif' ? read.hasAlpha : (options.alpha ?? false));
    }
  });

  test('what is see-through stays see-through', async () => {
    const source = await makePicture({ width: 300, height: 200, format: 'png', alpha: true });
    for (const format of ['png', 'webp'] as const) {
      const { data, info } = await sharp(await renderOne(source, 100, format))
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect(info.channels).toBe(4);
      expect(data[(30 * 100 + 10) * 4 + 3]).toBe(0);
      expect(data[(30 * 100 + 90) * 4 + 3]).toBe(255);
    }
  });

  test('an SVG is not read, whatever it is called', async () => {
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>',
    );
    await expect(render(svg, {})).rejects.toMatchObject({ code: 'PICTURE_UNREADABLE' });
  });
});

describe('orientation, colours, metadata', () => {
  // Red, green / blue, white: the four corners of the upright picture.
  const CORNERS = { topLeft: [255, 0, 0], topRight: [0, 255, 0], bottomLeft: [0, 0, 255] };

  async function corners(): Promise<Buffer> {
    const square = (background: string, left: number, top: number) => ({
      input: { create: { width: 60, height: 40, channels: 3 as const, background } },
      left,
      top,
    });
    return await sharp({ create: { width: 120, height: 80, channels: 3, background: 'white' } })
      .composite([square('#f00', 0, 0), square('#0f0', 60, 0), square('#00f', 0, 40)])
      .png()
      .toBuffer();
  }

  /** Stores the pixels so that a viewer that obeys the EXIF orientation sees the picture upright. */
  async function storedAs(orientation: number): Promise<Buffer> {
    let turned = sharp(await corners());
    if ([2, 4].includes(orientation)) turned = orientation === 2 ? turned.flop() : turned.flip();
    if (orientation === 3) turned = turned.rotate(180);
    if (orientation === 6) turned = turned.rotate(270);
    if (orientation === 8) turned = turned.rotate(90);
    if (orientation === 5) turned = sharp(await turned.rotate(90).toBuffer()).flop();
    if (orientation === 7) turned = sharp(await turned.rotate(270).toBuffer()).flop();
    return await turned.withMetadata({ orientation }).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer();
  }

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('orientation %i comes out upright', async (orientation) => {
    const { picture, variants } = await render(await storedAs(orientation), { widths: [60, 30] });
    expect(picture).toMatchObject({ width: 120, height: 80 });
    expect(variants).toHaveLength(4);
    for (const { bytes, width, height } of variants) {
      expect(height).toBe((width * 80) / 120);
      const [right, bottom] = [width - 4, height - 4];
      for (const [colour, x, y] of [
        [CORNERS.topLeft, 3, 3],
        [CORNERS.topRight, right, 3],
        [CORNERS.bottomLeft, 3, bottom],
      ] as const) {
        const found = await colourAt(bytes, x, y);
        for (const channel of [0, 1, 2])
          expect(Math.abs(found[channel]! - colour[channel]!)).toBeLessThan(40);
      }
      expect((await sharp(bytes).metadata()).orientation ?? 1).toBe(1);
    }
  });

  test('the place where a photograph was taken is not in its thumbnails', async () => {
    const source = await makePicture({ width: 300, height: 200, format: 'jpeg', gps: true });
    expect((await sharp(source).metadata()).exif?.includes('somebody')).toBe(true);
    const { variants } = await render(source, {});
    for (const { bytes } of variants) {
      const { exif, xmp, iptc } = await sharp(bytes).metadata();
      expect({ exif, xmp, iptc }).toEqual({});
      expect(Buffer.from(bytes).includes('somebody')).toBe(false);
    }
  });

  // Reinterpreted as sRGB, each would be off by more than 50 in sum; the way into CMYK and back is a lossy one.
  test.each([
    ['p3', [0x30, 0xa0, 0x60], 12],
    ['cmyk', [0x80, 0x80, 0x80], 48],
  ] as const)('%s colours are converted to sRGB', async (icc, [r, g, b], tolerance) => {
    const source = await sharp({ create: { width: 200, height: 100, channels: 3, background: { r, g, b } } })
      .withIccProfile(icc)
      .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
      .toBuffer();
    const found = await colourAt(await renderOne(source, 64, 'png'), 30, 15);
    const difference = [r, g, b].map((channel, index) => Math.abs(found[index]! - channel));
    expect(difference.reduce((sum, one) => sum + one)).toBeLessThan(tolerance);
  });

  test('each width is as good as a render of its own from the original', async () => {
    // Enlarged, because a photograph of 12 megapixels has no detail in every single pixel.
    const small = await makePicture({ width: 1000, height: 750, format: 'png' });
    for (const progressive of [false, true]) {
      const source = await sharp(small).resize(4000, 3000).jpeg({ quality: 90, progressive }).toBuffer();
      const { variants } = await render(source, { widths: [64, 128, 256, 512, 1024], formats: ['png'] });
      for (const { bytes, width, height } of variants) {
        const direct = await sharp(source).resize(width, height, { fit: 'fill' }).png().toBuffer();
        expect(await meanDifference(bytes, direct)).toBeLessThanOrEqual(1);
      }
    }
  });
});

describe('animations', () => {
  test.each(['gif', 'webp'] as const)(
    'a %s keeps frames, timing and loop in both formats',
    async (format) => {
      const delay = [40, 80, 120, 200];
      const still = await makePicture({ width: 200, height: 100, format, frames: 4 });
      const source = await sharp(still, { animated: true }).toFormat(format, { delay, loop: 3 }).toBuffer();
      const { picture, variants } = await render(source, { formats: ['gif', 'webp'] });
      expect(picture.frames).toBe(4);
      expect(variants).toHaveLength(4);
      for (const { bytes, width, height } of variants) {
        const read = await sharp(bytes, { animated: true }).metadata();
        expect(read).toMatchObject({ width, pageHeight: height, pages: 4, loop: 3, delay });
      }
    },
  );

  test('a large thumbnail of many frames shows the first, its small ones move', async () => {
    const source = await makePicture({ width: 1000, height: 500, format: 'webp', frames: 10 });
    const { variants } = await render(source, { widths: [1000, 100], formats: ['webp'] });
    const pages = await Promise.all(
      variants.map(async ({ bytes, width }) => [width, (await sharp(bytes).metadata()).pages ?? 1]),
    );
    expect(pages).toEqual([
      [1000, 1],
      [100, 10],
    ]);
  });

  test('a still format shows the first frame', async () => {
    const source = await makePicture({ width: 100, height: 50, format: 'gif', frames: 3 });
    const { width, height, pages } = await sharp(await renderOne(source, 50, 'png')).metadata();
    expect({ width, height, pages }).toEqual({ width: 50, height: 25, pages: undefined });
  });
});

describe('on request', () => {
  test('a picture is enlarged to exactly the width asked for', async () => {
    const source = await makePicture({ width: 90, height: 60, format: 'jpeg' });
    const { width, height } = await sharp(await renderOne(source, 1000, 'jpeg')).metadata();
    expect([width, height]).toEqual([1000, 667]);
  });

  test('the full size is the upright size', async () => {
    const source = await makePicture({ width: 90, height: 60, format: 'jpeg', orientation: 6 });
    const { variants } = await render(source, { cause: 'request', widths: 'full', formats: ['webp'] });
    expect(variants).toEqual([expect.objectContaining({ width: 60, height: 90, format: 'webp' })]);
  });

  test('a thumbnail that its format cannot hold is refused', async () => {
    const source = await makePicture({ width: 10, height: 1_000, format: 'jpeg' });
    await expect(renderOne(source, 4096, 'webp')).rejects.toMatchObject({ code: 'THUMBNAIL_TOO_LARGE' });
    await expect(renderOne(source, 170, 'webp')).rejects.toMatchObject({ code: 'THUMBNAIL_TOO_LARGE' });
    expect((await sharp(await renderOne(source, 170, 'jpeg')).metadata()).height).toBe(17_000);
  });
});

describe('broken and hostile pictures', () => {
  test('a picture with too many pixels is refused by its header', async () => {
    for (const bomb of [await makeJpegBomb(20_000, 14_000), await makePngBomb(12_000, 9_000)]) {
      await expect(render(bomb, {})).rejects.toMatchObject({
        code: 'PICTURE_TOO_LARGE',
        details: { max_pixels: 100_000_000 },
      });
    }
  });

  test.each(['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const)(
    'half a %s is refused',
    async (format) => {
      const whole = await makePicture({ width: 300, height: 200, format });
      const half = whole.subarray(0, whole.length / 2);
      await expect(render(half, {})).rejects.toMatchObject({ code: 'PICTURE_UNREADABLE' });
    },
  );

  test('bytes that are no picture are refused', async () => {
    for (const bytes of [Buffer.from('GIF89a'), Buffer.alloc(1_000, 'x'), Buffer.from([0xff, 0xd8, 0xff])]) {
      await expect(render(bytes, {})).rejects.toMatchObject({ code: 'PICTURE_UNREADABLE' });
    }
  });

  test('the same child renders on after a refusal', async () => {
    const before = pool.pids;
    await expect(render(Buffer.from('nothing'), {})).rejects.toThrow();
    await render(await makePicture({ width: 100, height: 80, format: 'jpeg' }), {});
    expect(pool.pids).toEqual(before);
  });
});
