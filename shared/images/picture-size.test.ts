import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { makePicture } from '../../scripts/testing/pictures.ts';
import { pictureSize } from './picture-size.ts';

const SIZE = { width: 60, height: 40 };
const TURNED = { width: 40, height: 60 };

describe('the size of a picture', () => {
  it.each(['jpeg', 'png', 'webp', 'gif', 'avif'] as const)(
    'is read from the head of a %s',
    async (format) => {
      const bytes = await makePicture({ ...SIZE, format });
      expect(pictureSize(`image/${format}`, bytes)).toEqual(SIZE);
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'is that of the upright JPEG with orientation %i',
    async (orientation) => {
      const bytes = await makePicture({ ...SIZE, format: 'jpeg', orientation });
      expect(pictureSize('image/jpeg', bytes)).toEqual(orientation >= 5 ? TURNED : SIZE);
    },
  );

  it.each(['png', 'tiff', 'webp', 'avif'] as const)(
    'is that of the upright %s, or not given',
    async (format) => {
      for (const orientation of [3, 6]) {
        const bytes = await makePicture({ ...SIZE, format, orientation });
        const { autoOrient } = await sharp(bytes).metadata();
        expect([undefined, { width: autoOrient.width, height: autoOrient.height }]).toContainEqual(
          pictureSize(`image/${format}`, bytes),
        );
      }
    },
  );

  it('is not given when the head is cut off or nonsense', async () => {
    const bytes = await makePicture({ ...SIZE, format: 'jpeg' });
    expect(pictureSize('image/jpeg', bytes.subarray(0, 20))).toBeUndefined();
    expect(pictureSize('image/jpeg', Buffer.alloc(0))).toBeUndefined();
    expect(pictureSize('image/png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))).toBeUndefined();
    const zero = await makePicture({ ...SIZE, format: 'png' });
    zero.writeUInt32BE(0, 16);
    expect(pictureSize('image/png', zero)).toBeUndefined();
  });

  it('takes no time however the head is made', () => {
    const heads = [
      // Boxes within boxes, each of them looked for in all that follow.
      Buffer.concat([
        Buffer.from('\x00\x00\x00\x10ftypavif\x00\x00\x00\x00\x00\x04\x00\x00meta\x00\x00\x00\x00', 'latin1'),
        Buffer.from('\x00\x04\x00\x00iprp\x00\x04\x00\x00ipco', 'latin1'),
        ...Array.from({ length: 12_000 }, () =>
          Buffer.from('\x00\x00\x00\x14ispe'.padEnd(20, '\x00'), 'latin1'),
        ),
      ]),
      Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(300_000)]),
      Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(300_000, 0xff)]),
      Buffer.concat([Buffer.from('II*\x00\x08\x00\x00\x00\xff\xff', 'latin1'), Buffer.alloc(300_000, 1)]),
    ];
    const began = performance.now();
    for (const head of heads)
      for (const type of ['image/avif', 'image/jpeg', 'image/tiff', 'image/webp', 'image/png'])
        pictureSize(type, head);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
