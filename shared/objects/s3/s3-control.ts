import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ListedObject } from '../object-store.ts';
import { S3_DEADLINES, type S3Deadlines, type S3StoreOptions } from './s3-options.ts';

/** S3 takes no more keys in one request. */
const DELETE_BATCH = 1_000;

export interface FinishedPart {
  readonly number: number;
  readonly etag: string;
  readonly crc32?: string;
}

/** The requests whose bodies are XML, through the SDK: seldom, and with answers that can be errors after a 200. */
export interface S3Control {
  startMultipart(key: string, contentType: string, signal: AbortSignal): Promise<string>;
  completeMultipart(
    key: string,
    uploadId: string,
    parts: readonly FinishedPart[],
    signal: AbortSignal,
  ): Promise<void>;
  abortMultipart(key: string, uploadId: string): Promise<void>;
  unfinished(prefix: string): AsyncIterable<{ key: string; uploadId: string }>;
  /** In the order of the keys; only those after `after` when it is given. */
  list(prefix: string, after?: string): AsyncIterable<ListedObject>;
  /** Resolves when the copy is durable. */
  copy(from: string, to: string): Promise<void>;
  /** Resolves when the server has named every key as deleted. */
  delete(keys: readonly string[]): Promise<void>;
  close(): void;
}

export function createS3Client(options: S3StoreOptions): S3Client {
  const deadlines: S3Deadlines = { ...S3_DEADLINES, ...options.deadlines };
  const checksums = options.checksums === 'when_supported' ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED';
  return new S3Client({
    endpoint: options.endpoint,
    region: options.region,
    forcePathStyle: options.forcePathStyle,
    credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
    requestChecksumCalculation: checksums,
    responseChecksumValidation: checksums,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: deadlines.connectMs },
  });
}

export function createS3Control(options: S3StoreOptions): S3Control {
  const deadlines: S3Deadlines = { ...S3_DEADLINES, ...options.deadlines };
  const client = createS3Client(options);
  const withChecksums = options.checksums === 'when_supported';
  const Bucket = options.bucket;
  const soon = (): { abortSignal: AbortSignal } => ({
    abortSignal: AbortSignal.timeout(deadlines.controlMs),
  });

  async function startMultipart(Key: string, ContentType: string, signal: AbortSignal): Promise<string> {
    const { UploadId, $metadata } = await client.send(
      new CreateMultipartUploadCommand({
        Bucket,
        Key,
        ContentType,
        ...(withChecksums && { ChecksumAlgorithm: 'CRC32' }),
      }),
      { abortSignal: AbortSignal.any([signal, soon().abortSignal]) },
    );
    if (UploadId === undefined) throw new Error('The S3 server gave no upload id.');
    if (($metadata.attempts ?? 1) > 1) await abortOthers(Key, UploadId).catch(() => undefined);
    return UploadId;
  }

  /** A first attempt whose answer was lost may have started an upload that nobody knows of, and nothing would end. */
  async function abortOthers(Key: string, own: string): Promise<void> {
    for await (const { key, uploadId } of unfinished(Key))
      if (key === Key && uploadId !== own) await abortMultipart(key, uploadId);
  }

  async function completeMultipart(
    Key: string,
    UploadId: string,
    parts: readonly FinishedPart[],
    signal: AbortSignal,
  ): Promise<void> {
    const Parts = parts
      .toSorted((a, b) => a.number - b.number)
      .map(({ number, etag, crc32 }) => ({
        PartNumber: number,
        ETag: etag,
        ...(crc32 !== undefined && { ChecksumCRC32: crc32 }),
      }));
    await client.send(
      new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
      { abortSignal: AbortSignal.any([signal, AbortSignal.timeout(deadlines.completeMs)]) },
    );
  }

  async function abortMultipart(Key: string, UploadId: string): Promise<void> {
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), soon());
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'NoSuchUpload') throw error;
    }
  }

  async function* unfinished(prefix: string): AsyncGenerator<{ key: string; uploadId: string }> {
    let markers: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (markers !== undefined) {
      const page: ListMultipartUploadsCommandOutput = await client.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...markers }),
        soon(),
      );
      for (const { Key, UploadId } of page.Uploads ?? []) {
        // Some servers ignore the prefix.
        if (Key?.startsWith(prefix) && UploadId !== undefined) yield { key: Key, uploadId: UploadId };
      }
      markers =
        page.IsTruncated === true && page.NextKeyMarker !== undefined
          ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker ?? '' }
          : undefined;
    }
  }

  async function* list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
    let token: string | undefined;
    do {
      const from = token === undefined ? { StartAfter: after } : { ContinuationToken: token };
      const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ...from }), soon());
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        // Names that end in `/` are the folders of servers that keep objects as files.
        if (Key === undefined || Size === undefined || LastModified === undefined || Key.endsWith('/'))
          continue;
        yield { key: Key, sizeBytes: Size, modifiedAt: LastModified };
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async function copy(from: string, to: string): Promise<void> {
    await client.send(
      // Keys need no encoding (see object-keys.ts).
      new CopyObjectCommand({ Bucket, CopySource: `${Bucket}/${from}`, Key: to }),
      { abortSignal: AbortSignal.timeout(deadlines.completeMs) },
    );
  }

  async function remove(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += DELETE_BATCH) {
      const batch = keys.slice(from, from + DELETE_BATCH);
      const Objects = batch.map((Key) => ({ Key }));
      const answer = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }), soon());
      const gone = new Set(answer.Deleted?.map(({ Key }) => Key));
      for (const { Key, Code } of answer.Errors ?? []) if (Code === 'NoSuchKey') gone.add(Key);
      const kept = batch.filter((key) => !gone.has(key));
      if (kept.length > 0) {
        throw new Error(
          `The S3 server did not confirm the removal of ${kept.length} objects: ${answer.Errors?.[0]?.Code}`,
        );
      }
    }
  }

  return {
    startMultipart,
    completeMultipart,
    abortMultipart,
    unfinished,
    list,
    copy,
    delete: remove,
    close: () => client.destroy(),
  };
}
