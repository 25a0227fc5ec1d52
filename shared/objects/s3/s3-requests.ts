import { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { UploadPart } from './collect-parts.ts';
import { type ObjectAnswer, openObjectStream } from './object-stream.ts';
import { createRequestSigner, EMPTY_PAYLOAD } from './request-signer.ts';
import { withRetries } from './retry.ts';
import { s3Address } from './s3-address.ts';
import { S3Failure } from './s3-failure.ts';
import { S3_DEADLINES, type S3Deadlines, type S3StoreOptions } from './s3-options.ts';

/** More of an error's body is not looked at. */
const ANSWER_LENGTH = 64 * 1024;

/** The requests that carry bytes, or come often: sent by undici and signed here, a fifth of what the SDK costs. */
export interface S3Requests {
  /** Sends one part. Gives the answer's ETag; throws `S3Failure` or the connection's error. */
  put(
    part: UploadPart,
    to: { key: string; query?: string; contentType?: string; signal: AbortSignal },
  ): Promise<string | undefined>;
  /** Status and length of an object, or of the bucket when no key is given. */
  head(key: string | undefined, signal?: AbortSignal): Promise<{ status: number; length?: number }>;
  /** Opens an object; throws `S3Failure` unless the answer is 200 or 206. */
  get(key: string, options: { range?: string; signal?: AbortSignal | undefined }): Promise<ObjectAnswer>;
  close(): Promise<void>;
}

export function createS3Requests(options: S3StoreOptions): S3Requests {
  const deadlines: S3Deadlines = { ...S3_DEADLINES, ...options.deadlines };
  const address = s3Address(options);
  const sign = createRequestSigner({ ...options, host: address.host });
  const pool = new Pool(address.origin, {
    // Each reader on a slow line holds one. A bound all the same, so that file descriptors are left for other things.
    connections: 1_024,
    connect: { timeout: deadlines.connectMs },
    // Deadlines of our own, which also count the wait for a connection.
    headersTimeout: 0,
    bodyTimeout: deadlines.stallMs,
  });

  async function put(
    part: UploadPart,
    to: { key: string; query?: string; contentType?: string; signal: AbortSignal },
  ): Promise<string | undefined> {
    const path = address.path(to.key);
    const query = to.query ?? '';
    const stall = new StallTimer(deadlines.stallMs, to.signal);
    try {
      const answer = await pool.request({
        method: 'PUT',
        path: query === '' ? path : `${path}?${query}`,
        headers: {
          ...sign({ method: 'PUT', path, query, payloadHash: part.payloadHash, crc32: part.crc32 }),
          'content-length': String(part.bytes),
          ...(to.contentType !== undefined && { 'content-type': to.contentType }),
        },
        body: bodyOf(part, stall),
        signal: stall.signal,
      });
      const text = await textOf(answer.body);
      if (answer.statusCode !== 200) throw new S3Failure('PUT', answer.statusCode, text);
      const etag = answer.headers.etag;
      return typeof etag === 'string' ? etag : undefined;
    } finally {
      stall.stop();
    }
  }

  async function head(
    key: string | undefined,
    signal?: AbortSignal,
  ): Promise<{ status: number; length?: number }> {
    const path = address.path(key);
    const stall = new StallTimer(deadlines.answerMs, signal);
    try {
      const answer = await pool.request({
        method: 'HEAD',
        path,
        headers: sign({ method: 'HEAD', path, query: '', payloadHash: EMPTY_PAYLOAD }),
        signal: stall.signal,
      });
      await answer.body.dump();
      const status = answer.statusCode;
      if (status >= 500 || status === 429) throw new S3Failure('HEAD', status, '');
      const length = answer.headers['content-length'];
      return { status, ...(typeof length === 'string' && { length: Number(length) }) };
    } finally {
      stall.stop();
    }
  }

  async function get(
    key: string,
    { range, signal }: { range?: string; signal?: AbortSignal | undefined },
  ): Promise<ObjectAnswer> {
    const path = address.path(key);
    const headers = sign({ method: 'GET', path, query: '', payloadHash: EMPTY_PAYLOAD });
    if (range !== undefined) headers.range = range;
    return openObjectStream(pool, { path, headers, answerMs: deadlines.answerMs, signal });
  }

  return {
    put: (part, to) => withRetries(() => put(part, to), to.signal),
    head: (key, signal) => withRetries(() => head(key, signal), signal),
    get: (key, to) => withRetries(() => get(key, to), to.signal),
    close: () => pool.destroy(),
  };
}

/** A signal that is aborted when nothing happened for a while, or when the caller's is. */
class StallTimer {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    this.#timer = setTimeout(() => {
      this.#controller.abort(new Error(`The S3 server was silent for ${ms} ms.`));
    }, ms);
    if (caller?.aborted === true) this.#onAbort();
    else caller?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  progress(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }
}

function bodyOf(part: UploadPart, stall: StallTimer): Buffer | Readable | null {
  const [first] = part.pieces;
  if (part.pieces.length <= 1) return first ?? null;
  // One piece is handed over when the connection has taken those before.
  return Readable.from(
    (function* () {
      for (const piece of part.pieces) {
        stall.progress();
        yield piece;
      }
    })(),
  );
}

async function textOf(body: Readable): Promise<string> {
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) {
    if (text.length < ANSWER_LENGTH) text += String(chunk);
  }
  return text;
}
