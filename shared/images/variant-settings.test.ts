import { expect, test } from 'vitest';
import { configuredVariants, renderedSet, variantKey } from './variant-settings.ts';

const WIDTHS = [64, 128, 256, 512, 1024];

test('a picture has every configured width not above its own, in its own format and in WebP', () => {
  const variants = configuredVariants({ width: 256, height: 100 }, 'png', WIDTHS);
  expect(variants).toEqual([
    { width: 64, height: 25, format: 'png' },
    { width: 64, height: 25, format: 'webp' },
    { width: 128, height: 50, format: 'png' },
    { width: 128, height: 50, format: 'webp' },
    { width: 256, height: 100, format: 'png' },
    { width: 256, height: 100, format: 'webp' },
  ]);
});

test('a WebP picture has each width once', () => {
  const variants = configuredVariants({ width: 200, height: 200 }, 'webp', WIDTHS);
  expect(variants.map(({ width, format }) => `${width} ${format}`)).toEqual(['64 webp', '128 webp']);
});

test('a picture smaller than every width has no variants', () => {
  expect(configuredVariants({ width: 63, height: 500 }, 'jpeg', WIDTHS)).toEqual([]);
});

test('a variant that its format cannot hold is left out', () => {
  const variants = configuredVariants({ width: 64, height: 20_000 }, 'jpeg', WIDTHS);
  expect(variants).toEqual([{ width: 64, height: 20_000, format: 'jpeg' }]);
});

test('a key names file, width, format and settings', () => {
  expect(variantKey('018f', 256, 'webp')).toMatch(/^variants\/018f\/256-webp-[0-9a-f]{12}$/);
  expect(variantKey('018f', 256, 'webp')).toBe(variantKey('018f', 256, 'webp'));
  expect(variantKey('018f', 256, 'png').slice(-12)).not.toBe(variantKey('018f', 256, 'webp').slice(-12));
});

test('a set is named by its widths, whatever their order', () => {
  expect(renderedSet([64, 128])).toBe(renderedSet([128, 64, 64]));
  expect(renderedSet([64, 128])).not.toBe(renderedSet([64, 256]));
});
