import { writeFailed } from '../failures.ts';
import { interruptibleBody, type ObjectBytes } from '../interruptible-body.ts';
import type { PutOptions } from '../object-store.ts';
import { collectParts, type PartHashing, partOfBytes, type UploadPart } from './collect-parts.ts';
import { type MultipartUpload, startMultipartUpload } from './multipart-upload.ts';
import type { S3Control } from './s3-control.ts';
import type { S3Requests } from './s3-requests.ts';
import { PART_BYTES, type UploadBuffers } from './upload-buffers.ts';

export interface PutDeps {
  readonly requests: S3Requests;
  readonly control: () => Promise<S3Control>;
  readonly buffers: UploadBuffers;
  readonly hashing: PartHashing;
}

/** Up to one part: one PUT. More: a multipart upload, which is aborted when anything fails. Gives the bytes. */
export async function putS3Object(
  deps: PutDeps,
  key: string,
  body: ObjectBytes,
  { contentType, signal }: PutOptions,
): Promise<number> {
  signal?.throwIfAborted();
  // Aborted by the caller, or by a part that failed: either ends the wait for the body and all requests.
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });

  let upload: MultipartUpload | undefined;
  let bytes = 0;
  try {
    for await (const part of partsOf(deps, body, stop.signal)) {
      bytes += part.bytes;
      if (upload === undefined && part.last) {
        await putSingle(deps.requests, key, part, contentType, stop.signal);
        return bytes;
      }
      upload ??= await startUpload(deps, key, contentType, stop, part);
      await upload.send(part);
    }
    await upload?.complete();
    return bytes;
  } catch (error) {
    stop.abort(error);
    await upload?.abort();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

async function* partsOf(
  { buffers, hashing }: PutDeps,
  body: ObjectBytes,
  signal: AbortSignal,
): AsyncGenerator<UploadPart> {
  if (body instanceof Uint8Array && body.byteLength <= PART_BYTES) yield partOfBytes(body, hashing);
  else yield* collectParts(interruptibleBody(body, signal), { buffers, hashing, signal });
}

async function putSingle(
  requests: S3Requests,
  key: string,
  part: UploadPart,
  contentType: string,
  signal: AbortSignal,
): Promise<void> {
  let sent = false;
  try {
    await requests.put(part, { key, contentType, signal });
    sent = true;
  } catch (error) {
    throw writeFailed(error);
  } finally {
    part.free({ reusable: sent });
  }
}

async function startUpload(
  { requests, control }: PutDeps,
  key: string,
  contentType: string,
  stop: AbortController,
  first: UploadPart,
): Promise<MultipartUpload> {
  try {
    return await startMultipartUpload({ requests, control: await control() }, key, contentType, stop);
  } catch (error) {
    first.free({ reusable: true });
    throw error;
  }
}
