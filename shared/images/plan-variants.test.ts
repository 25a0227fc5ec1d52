import { expect, test } from 'vitest';
import { planVariants } from './plan-variants.ts';
import type { PictureHeader } from './read-header.ts';
import type { RenderRequest } from './render-request.ts';

const still: PictureHeader = {
  format: 'jpeg',
  upright: { width: 1000, height: 500 },
  frames: 1,
  delay: [],
  loop: 0,
};
const ahead: RenderRequest = { cause: 'ahead', widths: [64, 1024, 512], formats: ['jpeg', 'webp'] };
const plan = (request: RenderRequest, header = still, maxInputPixels = 100e6) =>
  planVariants(request, header, maxInputPixels).map(
    ({ size, format, animated }) => `${size.width}x${size.height} ${format}${animated ? ' animated' : ''}`,
  );

test('the worker makes the largest first and nothing above the picture', () => {
  expect(plan(ahead)).toEqual(['512x256 jpeg', '512x256 webp', '64x32 jpeg', '64x32 webp']);
});

test('a reader gets an enlarged picture', () => {
  expect(plan({ cause: 'request', widths: [2000], formats: ['jpeg'] })).toEqual(['2000x1000 jpeg']);
});

test('full size is the size of the original, also from a smaller source', () => {
  expect(plan({ cause: 'request', widths: 'full', formats: ['webp'] })).toEqual(['1000x500 webp']);
});

test('heights follow from the original, not from the source', () => {
  const original = { width: 3000, height: 1501 };
  const source = { ...still, upright: { width: 1024, height: 512 } };
  expect(plan({ cause: 'request', widths: [300], formats: ['jpeg'], original }, source)).toEqual([
    '300x150 jpeg',
  ]);
});

test('too large is left out by the worker and refused to a reader', () => {
  const tall = { ...still, upright: { width: 64, height: 20_000 } };
  expect(plan({ ...ahead, widths: [64] }, tall)).toEqual(['64x20000 jpeg']);
  expect(() => plan({ cause: 'request', widths: [64], formats: ['webp'] }, tall)).toThrow(
    expect.objectContaining({ code: 'THUMBNAIL_TOO_LARGE' }),
  );
});

test('small widths of an animation move, large ones show the first frame', () => {
  const animation: PictureHeader = { ...still, format: 'gif', frames: 20 };
  expect(plan({ ...ahead, widths: [1000, 500], formats: ['gif', 'webp'] }, animation)).toEqual([
    '1000x500 gif',
    '1000x500 webp',
    '500x250 gif animated',
    '500x250 webp animated',
  ]);
});

test('an animation whose frames are too many pixels to decode shows the first frame', () => {
  const animation: PictureHeader = { ...still, format: 'gif', frames: 20 };
  expect(plan({ ...ahead, widths: [64], formats: ['gif'] }, animation, 9_999_999)).toEqual(['64x32 gif']);
});
