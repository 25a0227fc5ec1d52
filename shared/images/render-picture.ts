import sharp, { type CreateRaw, type Sharp } from 'sharp';
import { AppError } from '../errors/app-error.ts';
import { encoderSettings } from './encoders.ts';
import { type PlannedVariant, planVariants } from './plan-variants.ts';
import { type PictureHeader, readHeader } from './read-header.ts';
import type { RenderedPicture, RenderedVariant, RenderRequest } from './render-request.ts';

export interface RenderLimits {
  readonly maxInputPixels: number;
  /** s after which libvips gives up by itself. */
  readonly timeoutSeconds: number;
}

/**
 * Renders all that is asked of one picture from one decode, a "star": decoded once to the largest width (with
 * shrink-on-load), and every other width derived from those pixels. Stills and animations are stars of their own.
 * @throws AppError PICTURE_UNREADABLE, PICTURE_TOO_LARGE, PICTURE_FORMAT_NOT_RENDERED, THUMBNAIL_TOO_LARGE,
 *   RENDER_TIMED_OUT
 */
export async function renderPicture(
  bytes: Uint8Array,
  request: RenderRequest,
  limits: RenderLimits,
  onVariant: (variant: RenderedVariant) => Promise<void>,
): Promise<RenderedPicture> {
  const header = await readHeader(bytes, limits.maxInputPixels);
  const planned = planVariants(request, header, limits.maxInputPixels);
  try {
    for (const animated of [false, true]) {
      const star = planned.filter((variant) => variant.animated === animated);
      await renderStar(bytes, star, request, header, limits, onVariant);
    }
  } catch (error) {
    throw asAppError(error);
  }
  return { ...header.upright, frames: header.frames };
}

async function renderStar(
  bytes: Uint8Array,
  star: readonly PlannedVariant[],
  request: RenderRequest,
  header: PictureHeader,
  limits: RenderLimits,
  onVariant: (variant: RenderedVariant) => Promise<void>,
): Promise<void> {
  const [largest, ...others] = star;
  if (largest === undefined) return;
  const source = decode(bytes, largest, header, limits);
  if (others.length === 0) {
    // One variant streams from decoder to encoder without its pixels ever being whole in memory.
    await onVariant(await encode(source, largest, request, header));
    return;
  }
  const all = await toPixels(source, largest);
  for (const variants of Map.groupBy(star, (variant) => variant.size.width).values()) {
    const [first, second] = variants;
    if (first === undefined) continue;
    const isLargest = first.size.width === largest.size.width;
    // What is encoded twice is resized once.
    const own =
      isLargest || second === undefined ? all : await toPixels(resize(fromPixels(all, limits), first), first);
    for (const variant of variants) {
      const pixels = fromPixels(own, limits);
      const sized = own === all && !isLargest ? resize(pixels, variant) : pixels;
      await onVariant(await encode(sized, variant, request, header));
    }
  }
}

interface Pixels {
  readonly data: Uint8Array;
  readonly raw: CreateRaw;
}

async function toPixels(picture: Sharp, { animated, size }: PlannedVariant): Promise<Pixels> {
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  return { data, raw: { width, height, channels, ...(animated && { pageHeight: size.height }) } };
}

function fromPixels({ data, raw }: Pixels, limits: RenderLimits): Sharp {
  // Without `animated` a resize would take all frames for one tall picture.
  const animated = raw.pageHeight !== undefined;
  return sharp(data, { raw, animated, limitInputPixels: false }).timeout({ seconds: limits.timeoutSeconds });
}

/** Upright sRGB pixels of the variant's size, 8 bits a channel, without metadata. */
function decode(
  bytes: Uint8Array,
  variant: PlannedVariant,
  header: PictureHeader,
  limits: RenderLimits,
): Sharp {
  const source = sharp(bytes, {
    failOn: 'error',
    limitInputPixels: limits.maxInputPixels,
    pages: variant.animated ? -1 : 1,
  })
    .timeout({ seconds: limits.timeoutSeconds })
    .autoOrient()
    .toColourspace('srgb');
  const { width, height } = header.upright;
  return variant.size.width === width && variant.size.height === height ? source : resize(source, variant);
}

function resize(picture: Sharp, variant: PlannedVariant): Sharp {
  // Both sides are given: a height derived from already rounded pixels can be one off.
  return picture.resize(variant.size.width, variant.size.height, { fit: 'fill' });
}

async function encode(
  picture: Sharp,
  variant: PlannedVariant,
  request: RenderRequest,
  header: PictureHeader,
): Promise<RenderedVariant> {
  // Raw pixels do not remember how long each frame is shown.
  const timing = variant.animated ? { delay: [...header.delay], loop: header.loop } : {};
  const settings = encoderSettings(variant.format, request.cause);
  const bytes = await picture.toFormat(variant.format, { ...settings, ...timing }).toBuffer();
  return { ...variant.size, format: variant.format, bytes };
}

function asAppError(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const message = cause instanceof Error ? cause.message : '';
  if (message.includes('timeout')) {
    return new AppError('RENDER_TIMED_OUT', 'Rendering the picture took too long.', { cause });
  }
  // libvips reports a failed allocation like any other error, but it says nothing about the picture.
  if (/out of memory|unable to allocate/i.test(message)) {
    return new AppError('RENDER_CRASHED', 'There was not enough memory to render the picture.', { cause });
  }
  return new AppError('PICTURE_UNREADABLE', 'The picture cannot be decoded.', { cause });
}
