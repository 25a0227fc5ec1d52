/**
 * The program of a render child: takes one picture at a time from its parent, renders it, and gives the variants
 * back. It holds no credentials and no connection but the one to its parent: a picture that takes over the decoder
 * finds nothing here. A crash or a hang ends this process only.
 */
import { writeFileSync } from 'node:fs';
import { AppError } from '../errors/app-error.ts';
import { chunksOf, type FromChild, type ToChild } from './child-protocol.ts';
import { CollectBytes } from './collect-bytes.ts';
import { renderPicture } from './render-picture.ts';
import type { RenderedVariant } from './render-request.ts';
import { prepareForUntrustedPictures } from './untrusted-pictures.ts';

type RenderOrder = Extract<ToChild, { type: 'render' }>;

let order: RenderOrder | undefined;
let source: CollectBytes | undefined;

function send(message: FromChild): Promise<void> {
  return new Promise((resolve, reject) => {
    if (process.send === undefined) throw new Error('this program is started by the render pool');
    process.send(message, undefined, undefined, (error) => (error ? reject(error) : resolve()));
  });
}

async function sendVariant({ bytes, ...variant }: RenderedVariant): Promise<void> {
  await send({ type: 'variant', variant, length: bytes.length });
  for (const chunk of chunksOf(bytes)) await send({ type: 'bytes', bytes: chunk });
}

async function render({ request, limits }: RenderOrder, bytes: Buffer): Promise<void> {
  try {
    const picture = await renderPicture(bytes, request, limits, sendVariant);
    await send({ type: 'done', picture });
    globalThis.gc?.();
  } catch (error) {
    const known =
      error instanceof AppError ? error : new AppError('INTERNAL', 'Rendering failed.', { cause: error });
    const cause = known.cause instanceof Error ? known.cause.message : '';
    await send({ type: 'failed', code: known.code, message: known.message, details: known.details, cause });
  }
}

function receive(message: ToChild): void {
  switch (message.type) {
    case 'ping':
      // Not delivered only when the parent is gone.
      send({ type: 'ready' }).catch(() => {});
      return;
    case 'render':
      order = message;
      source = new CollectBytes(message.length);
      return;
    case 'bytes':
      source?.add(message.bytes);
      return;
    case 'end': {
      if (order === undefined || source === undefined) throw new Error('an end without a beginning');
      const [current, bytes] = [order, source.take()];
      order = undefined;
      source = undefined;
      // A failure to answer means that the parent is gone; the process ends on 'disconnect'.
      render(current, bytes).catch(() => {});
      return;
    }
  }
}

/** When the machine runs out of memory, a picture dies before the API or the database does. Linux only. */
function dieFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '800');
  } catch {
    // Elsewhere the system decides by itself.
  }
}

dieFirst();
prepareForUntrustedPictures();
// A terminal's Ctrl-C goes to the whole group. The parent decides when its renders end.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
// SIGKILL, because an orderly exit would wait for a decoder that may hang.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', receive);
send({ type: 'ready' }).catch(() => {});
