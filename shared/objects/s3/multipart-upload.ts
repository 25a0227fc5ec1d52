import { writeFailed } from '../failures.ts';
import type { UploadPart } from './collect-parts.ts';
import type { FinishedPart, S3Control } from './s3-control.ts';
import type { S3Requests } from './s3-requests.ts';

/**
 * Parts on their way at once. While there are so many nothing more is collected, so one upload holds two parts of
 * memory at most. Filling a third meanwhile was measured: no faster, and 8 MiB more.
 */
const IN_FLIGHT = 2;

export interface MultipartUpload {
  /** Takes the part over; waits while two are on their way. A part that fails aborts `stop` with the error. */
  send(part: UploadPart): Promise<void>;
  /** Resolves when all parts have become one durable object. */
  complete(): Promise<void>;
  /** Ends it so that the server keeps nothing. Only after `stop` was aborted; never rejects. */
  abort(): Promise<void>;
}

export async function startMultipartUpload(
  { requests, control }: { readonly requests: S3Requests; readonly control: S3Control },
  key: string,
  contentType: string,
  stop: AbortController,
): Promise<MultipartUpload> {
  const uploadId = await control.startMultipart(key, contentType, stop.signal).catch((error: unknown) => {
    throw writeFailed(error);
  });
  const finished: FinishedPart[] = [];
  const inFlight = new Set<Promise<void>>();
  let count = 0;
  let bytes = 0;

  async function sendPart(part: UploadPart, number: number): Promise<void> {
    let sent = false;
    try {
      const query = `partNumber=${number}&uploadId=${encodeURIComponent(uploadId)}`;
      const etag = await requests.put(part, { key, query, signal: stop.signal });
      if (etag === undefined) throw new Error('The S3 server gave no ETag for a part.');
      finished.push({ number, etag, ...(part.crc32 !== undefined && { crc32: part.crc32 }) });
      sent = true;
    } catch (error) {
      stop.abort(writeFailed(error));
    } finally {
      part.free({ reusable: sent });
    }
  }

  return {
    async send(part) {
      count += 1;
      bytes += part.bytes;
      const sending = sendPart(part, count).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
      if (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight);
      stop.signal.throwIfAborted();
    },

    async complete() {
      await Promise.all(inFlight);
      stop.signal.throwIfAborted();
      try {
        await control.completeMultipart(key, uploadId, finished, stop.signal);
      } catch (error) {
        // The answer may have got lost, and a repetition finds no such upload. The object itself tells.
        const { status, length } = await requests
          .head(key, stop.signal)
          .catch(() => ({ status: 0, length: 0 }));
        if (status !== 200 || length !== bytes) throw writeFailed(error);
      }
    },

    async abort() {
      // A part that arrives after the abort would stay, so all of them end first.
      await Promise.all(inFlight);
      // If this fails, `dropUnfinished` finds the upload later.
      await control.abortMultipart(key, uploadId).catch(() => undefined);
    },
  };
}
