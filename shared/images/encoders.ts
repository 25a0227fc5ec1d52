import type { PictureFormat } from './picture-format.ts';

/** Why a picture is rendered: ahead of any reader, by the worker, or while a reader waits. */
export type RenderCause = 'ahead' | 'request';

export type EncoderSettings = Readonly<Record<string, string | number | boolean>>;

/**
 * What each encoder is told. Notable absences: mozjpeg (slow), and `quality` of PNG, which would turn on palette
 * quantisation. WebP effort 4 costs twice the time of 2 and saves 5 % of the bytes, so readers who wait get 2.
 */
export function encoderSettings(format: PictureFormat, cause: RenderCause): EncoderSettings {
  switch (format) {
    case 'jpeg':
      return { quality: 80 };
    case 'png':
      return { compressionLevel: 6 };
    case 'webp':
      return { quality: 80, effort: cause === 'ahead' ? 4 : 2 };
    case 'gif':
      return { effort: 1 };
    case 'avif':
      return { quality: 50, effort: 2 };
    case 'tiff':
      return { compression: 'deflate', predictor: 'horizontal' };
  }
}
