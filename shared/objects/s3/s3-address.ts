export interface S3Address {
  /** Scheme, host and port. */
  readonly origin: string;
  /** What the `Host` header says: it is signed. */
  readonly host: string;
  /** Path of the bucket, or of one object of it. Keys are safe as they are (see `object-keys.ts`). */
  path(key?: string): string;
  /** Over plain http the body is hashed into the signature, so that nobody on the way can change it. */
  readonly encrypted: boolean;
}

export function s3Address(options: {
  readonly endpoint: string;
  readonly bucket: string;
  readonly forcePathStyle: boolean;
}): S3Address {
  const url = new URL(options.endpoint);
  if (!options.forcePathStyle) url.hostname = `${options.bucket}.${url.hostname}`;
  const base = url.pathname.replace(/\/+$/, '');
  const bucket = options.forcePathStyle ? `${base}/${options.bucket}` : base;
  return {
    origin: url.origin,
    host: url.host,
    path: (key) => (key === undefined ? bucket || '/' : `${bucket}/${key}`),
    encrypted: url.protocol === 'https:',
  };
}
