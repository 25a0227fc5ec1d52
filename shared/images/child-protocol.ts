import type { ErrorCode } from '../errors/error-codes.ts';
import type { RenderLimits } from './render-picture.ts';
import type { RenderedPicture, RenderedVariant, RenderRequest } from './render-request.ts';

/** Bytes cross in pieces of at most this size, so that neither side has to put a large message together. */
export const CHUNK_BYTES = 256 * 1024;

/** To the child: `ping` when it is idle, or one `render`, the source's bytes, `end`; then the next one after its `done` or `failed`. */
export type ToChild =
  | { readonly type: 'ping' }
  | {
      readonly type: 'render';
      readonly request: RenderRequest;
      readonly limits: RenderLimits;
      readonly length: number;
    }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'end' };

/** From the child: `ready` when it has started and for each `ping`, then per picture any number of `variant` with its `bytes`, and `done` or `failed`. */
export type FromChild =
  | { readonly type: 'ready' }
  | { readonly type: 'variant'; readonly variant: Omit<RenderedVariant, 'bytes'>; readonly length: number }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'done'; readonly picture: RenderedPicture }
  | {
      readonly type: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>>;
      /** What the decoder said, for the log. */
      readonly cause: string;
    };

/** The pieces of some bytes, without copying them. */
export function* chunksOf(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
  }
}
