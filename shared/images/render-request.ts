import type { RenderCause } from './encoders.ts';
import type { PictureFormat } from './picture-format.ts';
import type { Size } from './thumbnail-size.ts';

/** What to make of one picture. It crosses a process boundary, so it is plain data. */
export interface RenderRequest {
  /**
   * `ahead`: widths above the picture's own, and sizes that a format cannot hold, are left out.
   * `request`: they are enlarged, or refused with THUMBNAIL_TOO_LARGE.
   */
  readonly cause: RenderCause;
  /** Widths in px, or the picture's own size. */
  readonly widths: readonly number[] | 'full';
  readonly formats: readonly PictureFormat[];
  /** The upright size of the original, when the source is a smaller rendering of it: heights follow from this. */
  readonly original?: Size;
}

export interface RenderedVariant extends Size {
  /** The width that was asked for: a px number, also of a full-size rendering. */
  readonly width: number;
  readonly format: PictureFormat;
  readonly bytes: Uint8Array;
}

/** What was learned about the source. */
export interface RenderedPicture extends Size {
  /** 1 unless it is an animation. */
  readonly frames: number;
}
