import { AppError } from '../errors/app-error.ts';
import type { ObjectBody } from '../objects/object-store.ts';
import { CHUNK_BYTES, chunksOf, type FromChild, type ToChild } from './child-protocol.ts';
import { CollectBytes } from './collect-bytes.ts';
import type { RenderLimits } from './render-picture.ts';
import type { RenderProcess } from './render-process.ts';
import type { RenderedPicture, RenderedVariant, RenderRequest } from './render-request.ts';

export interface RenderTask {
  readonly request: RenderRequest;
  /** Called once, when a child is ready to take the bytes. */
  readonly openSource: () => Promise<ObjectBody>;
  /** Called with each variant as soon as it is encoded. */
  readonly onVariant: (variant: RenderedVariant) => void;
  /** Aborting it ends the render, and the child if it has begun. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Renders one picture in a child that is ready, and closes the source. When it rejects with anything but a `failed`
 * of the child (see `childIsClean`), the child is in the middle of something and must be killed.
 * @param deadlineMs for the rendering, and for each piece of the source to arrive
 * @throws AppError RENDER_CRASHED, RENDER_TIMED_OUT, OBJECT_STORE_UNAVAILABLE, or what the child reports
 */
export async function renderIn(
  child: RenderProcess,
  task: RenderTask,
  source: ObjectBody,
  limits: RenderLimits,
  deadlineMs: number,
): Promise<RenderedPicture> {
  const outcome = Promise.withResolvers<RenderedPicture>();
  // Whoever fails first decides; the others must not become unhandled rejections.
  outcome.promise.catch(() => {});
  const abort = () => outcome.reject(task.signal?.reason);
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const expect = (error: AppError) => {
    clearTimeout(timer);
    if (!over) timer = setTimeout(() => outcome.reject(error), deadlineMs);
  };
  child.listen(createListener(task, outcome));
  try {
    task.signal?.throwIfAborted();
    task.signal?.addEventListener('abort', abort, { once: true });
    const sent = sendSource(child, task.request, source, limits, expect);
    await Promise.race([sent, outcome.promise]);
    return await outcome.promise;
  } finally {
    over = true;
    clearTimeout(timer);
    source.stream.destroy();
    task.signal?.removeEventListener('abort', abort);
    child.listen(undefined);
  }
}

function createListener(task: RenderTask, outcome: PromiseWithResolvers<RenderedPicture>) {
  let current: { variant: Omit<RenderedVariant, 'bytes'>; collect: CollectBytes } | undefined;
  const receive = (message: FromChild) => {
    switch (message.type) {
      case 'ready':
        return;
      case 'variant':
        current = { variant: message.variant, collect: new CollectBytes(message.length) };
        return;
      case 'bytes':
        if (current === undefined) throw new Error('bytes of no variant');
        current.collect.add(message.bytes);
        if (current.collect.complete) task.onVariant({ ...current.variant, bytes: current.collect.take() });
        return;
      case 'done':
        outcome.resolve(message.picture);
        return;
      case 'failed':
        outcome.reject(new ReportedByChild(message));
        return;
    }
  };
  return {
    message: (message: FromChild) => {
      try {
        receive(message);
      } catch (cause) {
        outcome.reject(new AppError('RENDER_CRASHED', 'The render process answered nonsense.', { cause }));
      }
    },
    end: (reason: string) => outcome.reject(crashed(new Error(reason))),
  };
}

/**
 * Hands the source over in pieces, each when the one before has been written.
 * @param expect told whose fault it is when nothing happens from now on
 */
async function sendSource(
  child: RenderProcess,
  request: RenderRequest,
  source: ObjectBody,
  limits: RenderLimits,
  expect: (error: AppError) => void,
): Promise<void> {
  const send = async (message: ToChild) => {
    expect(timedOut());
    await child.send(message).catch((cause: unknown) => {
      throw crashed(cause);
    });
  };
  await send({ type: 'render', request, limits, length: source.length });
  expect(sourceStalled());
  // Object stores give small pieces; joining them saves messages.
  for await (const piece of joined(source.stream)) {
    for (const bytes of chunksOf(piece)) await send({ type: 'bytes', bytes });
    expect(sourceStalled());
  }
  await send({ type: 'end' });
}

async function* joined(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of stream) {
    pieces.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield pieces.length === 1 ? piece : Buffer.concat(pieces, length);
    pieces = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(pieces, length);
}

function crashed(cause: unknown): AppError {
  return new AppError('RENDER_CRASHED', 'The picture ended the process that rendered it.', { cause });
}

function timedOut(): AppError {
  return new AppError('RENDER_TIMED_OUT', 'Rendering the picture took too long.');
}

function sourceStalled(): AppError {
  return new AppError('OBJECT_STORE_UNAVAILABLE', 'The picture could not be read in time.');
}

/** A failure that the child reported in good order: it is ready for the next picture. */
class ReportedByChild extends AppError {
  constructor(report: Extract<FromChild, { type: 'failed' }>) {
    super(report.code, report.message, { details: report.details, cause: new Error(report.cause) });
  }
}

/** Whether the child can take another picture after this failure. */
export function childIsClean(error: unknown): boolean {
  return error instanceof ReportedByChild;
}
