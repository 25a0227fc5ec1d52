import { createHmac, hash } from 'node:crypto';

export interface SignableRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT';
  /** Path as it is sent. It must not need any escaping. */
  readonly path: string;
  /** Query parameters, sorted by name, values without anything to escape; `` for none. */
  readonly query: string;
  /** SHA-256 of the body in hex, or `UNSIGNED-PAYLOAD`. */
  readonly payloadHash: string;
  /** CRC-32 of the body, when it is sent along: every header that starts with `x-amz-` must be signed. */
  readonly crc32?: string | undefined;
}

export type RequestSigner = (request: SignableRequest, now?: Date) => Record<string, string>;

export const EMPTY_PAYLOAD = hash('sha256', '', 'hex');
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

/**
 * Signs requests by AWS Signature Version 4, and gives the headers to send. The key of a day is derived once. Twice
 * as fast as the official signer, which costs half as much as a whole read; a test compares the two.
 *
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function createRequestSigner(options: {
  readonly host: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}): RequestSigner {
  let day = '';
  let scope = '';
  let key: Buffer = Buffer.alloc(0);

  return ({ method, path, query, payloadHash, crc32 }, now = new Date()) => {
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const today = time.slice(0, 8);
    if (today !== day) {
      scope = `${today}/${options.region}/s3/aws4_request`;
      key = [today, options.region, 's3', 'aws4_request'].reduce(
        hmac,
        Buffer.from(`AWS4${options.secretAccessKey}`),
      );
      day = today;
    }
    // Sorted by name.
    const names = `host;${crc32 === undefined ? '' : 'x-amz-checksum-crc32;'}x-amz-content-sha256;x-amz-date`;
    const checksum = crc32 === undefined ? '' : `x-amz-checksum-crc32:${crc32}\n`;
    const canonical =
      `${method}\n${path}\n${query}\n` +
      `host:${options.host}\n${checksum}x-amz-content-sha256:${payloadHash}\nx-amz-date:${time}\n\n` +
      `${names}\n${payloadHash}`;
    const signature = createHmac('sha256', key)
      .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`)
      .digest('hex');
    return {
      host: options.host,
      'x-amz-date': time,
      'x-amz-content-sha256': payloadHash,
      ...(crc32 !== undefined && { 'x-amz-checksum-crc32': crc32 }),
      authorization: `AWS4-HMAC-SHA256 Credential=${options.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    };
  };
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest();
}
