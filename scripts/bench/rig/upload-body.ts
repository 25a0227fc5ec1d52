export interface UploadBody {
  readonly contentType: string;
  readonly body: Buffer<ArrayBuffer>;
}

const BOUNDARY = 'stowage-bench-5b1f2c90';

/** A multipart body with one file. */
export function uploadBody(bytes: Uint8Array, fileName: string): UploadBody {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  };
}
