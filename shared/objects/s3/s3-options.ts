export interface S3StoreOptions {
  /** Address of the server, http or https. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The bucket in the path instead of the host name. */
  readonly forcePathStyle: boolean;
  /** `when_supported` adds a CRC-32 to every write, which some servers refuse. */
  readonly checksums: 'when_required' | 'when_supported';
  /** Memory for parts on their way, all uploads of this store together. Default 256 MiB, at least 8 MiB. */
  readonly uploadBufferBytes?: number;
  readonly deadlines?: Partial<S3Deadlines>;
}

export interface S3Deadlines {
  /** To connect. */
  readonly connectMs: number;
  /** Until the answer to a read begins, retries not counted. */
  readonly answerMs: number;
  /** Longest silence within the body of a read, and within a write: no block of 256 KiB taken, or no answer. */
  readonly stallMs: number;
  /** For a listing's page, a batch of removals, the start or the abort of a multipart upload: all retries together. */
  readonly controlMs: number;
  /** For the server to put the parts of a multipart upload together. */
  readonly completeMs: number;
}

export const S3_DEADLINES: S3Deadlines = {
  connectMs: 3_000,
  answerMs: 15_000,
  stallMs: 30_000,
  controlMs: 30_000,
  completeMs: 120_000,
};

export const UPLOAD_BUFFER_BYTES = 256 * 1024 * 1024;
