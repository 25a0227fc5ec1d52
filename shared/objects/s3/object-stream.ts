import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { unavailable } from '../failures.ts';
import { keepFailure } from '../keep-failure.ts';
import { S3Failure } from './s3-failure.ts';

export interface ObjectAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly stream: Readable;
}

interface Opening {
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Until the answer begins, with the wait for a connection. */
  readonly answerMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends a GET and gives its answer once it begins. Rejects with `S3Failure` when the status is neither 200 nor 206,
 * with the signal's reason, or with the connection's error.
 */
export function openObjectStream(dispatcher: Dispatcher, opening: Opening): Promise<ObjectAnswer> {
  return new Promise((resolve, reject) => {
    opening.signal?.throwIfAborted();
    const handler = new ObjectHandler(opening, resolve, reject);
    dispatcher.dispatch({ method: 'GET', path: opening.path, headers: opening.headers }, handler);
  });
}

/**
 * Takes the answer straight from undici's parser, one layer less than `request()`, whose body cannot be made to fail
 * with an error of ours.
 */
class ObjectHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: ObjectAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#fail(this.#signal?.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #stream: ObjectStream | undefined;
  #failure: { readonly error: unknown } | undefined;
  #refusal: { readonly status: number; body: string } | undefined;

  constructor(
    { answerMs, signal }: Opening,
    resolve: (answer: ObjectAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    this.#timer = setTimeout(() => {
      this.#fail(new Error(`The S3 server did not answer within ${answerMs} ms.`));
    }, answerMs);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(asError(this.#failure.error));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    if (status !== 200 && status !== 206) {
      this.#refusal = { status, body: '' };
      return;
    }
    clearTimeout(this.#timer);
    this.#stream = new ObjectStream(controller, () => this.#release());
    this.#resolve({ status, headers, stream: this.#stream });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#refusal !== undefined) {
      if (this.#refusal.body.length < 64 * 1024) this.#refusal.body += chunk.toString('latin1');
    } else if (this.#stream?.push(chunk) === false) {
      controller.pause();
    }
  }

  onResponseEnd(): void {
    if (this.#refusal !== undefined) {
      this.#fail(new S3Failure('GET', this.#refusal.status, this.#refusal.body));
      return;
    }
    this.#stream?.finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = undefined;
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.#release();
    if (this.#stream === undefined) this.#reject(error);
    else this.#stream.destroy(error === this.#signal?.reason ? asError(error) : unavailable(error));
    this.#controller?.abort(asError(error));
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

class ObjectStream extends Readable {
  readonly #controller: Dispatcher.DispatchController;
  readonly #onClose: () => void;
  #complete = false;

  constructor(controller: Dispatcher.DispatchController, onClose: () => void) {
    super({ highWaterMark: 256 * 1024 });
    this.#controller = controller;
    this.#onClose = onClose;
    keepFailure(this);
  }

  finish(): void {
    this.#complete = true;
    this.push(null);
  }

  override _read(): void {
    if (!this.#complete) this.#controller.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#onClose();
    // A connection that still has bytes of this answer to come is of no use to anybody.
    if (!this.#complete) this.#controller.abort(error ?? new Error('The reader went away.'));
    callback(error);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
