import { createHash } from 'node:crypto';
import { encoderSettings } from './encoders.ts';
import { PICTURE_FORMATS, type PictureFormat } from './picture-format.ts';
import { fitsFormat, MAX_ANIMATED_PIXELS, type Size, thumbnailSize } from './thumbnail-size.ts';

/** Raise it when the same settings start to give other bytes (a change of the pipeline, or of sharp's encoders). */
const PIPELINE_VERSION = 1;

/** One of the variants that a worker makes ahead. */
export interface ConfiguredVariant extends Size {
  readonly format: PictureFormat;
}

/** The formats in which every picture is rendered ahead: its own, and WebP. */
export function configuredFormats(stored: PictureFormat): PictureFormat[] {
  return stored === 'webp' ? ['webp'] : [stored, 'webp'];
}

/**
 * The variants that a picture has when it is rendered: every configured width not above its own, in each format
 * that can hold it.
 * @param upright size of the original in px, after EXIF orientation
 */
export function configuredVariants(
  upright: Size,
  stored: PictureFormat,
  widths: readonly number[],
): ConfiguredVariant[] {
  return widths
    .filter((width) => width <= upright.width)
    .map((width) => thumbnailSize(upright, width))
    .flatMap((size) => configuredFormats(stored).map((format) => ({ ...size, format })))
    .filter((variant) => fitsFormat(variant, variant.format));
}

/** Identifies everything beside width and source that decides the bytes of a variant rendered ahead. */
function settingsHash(format: PictureFormat): string {
  return hash([PIPELINE_VERSION, MAX_ANIMATED_PIXELS, format, encoderSettings(format, 'ahead')]);
}

/** Names one rendering for good: other settings give another key. */
export function variantKey(fileId: string, width: number, format: PictureFormat): string {
  return `variants/${fileId}/${width}-${format}-${settingsHash(format)}`;
}

/** Names the set of variants that a configuration asks for; `files.rendered_set` holds the one that was made. */
export function renderedSet(widths: readonly number[]): string {
  const sorted = [...new Set(widths)].sort((a, b) => a - b);
  return `${sorted.join(',')}/${hash(PICTURE_FORMATS.map(settingsHash))}`;
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}
