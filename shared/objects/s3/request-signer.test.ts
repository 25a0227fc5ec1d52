import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, it } from 'vitest';
import { createRequestSigner, EMPTY_PAYLOAD, UNSIGNED_PAYLOAD } from './request-signer.ts';

const account = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const official = new SignatureV4({
  service: 's3',
  region: 'eu-central-1',
  credentials: account,
  sha256: Sha256,
  uriEscapePath: false,
  applyChecksum: false,
});
const sign = createRequestSigner({ host: 'store.example:9000', region: 'eu-central-1', ...account });

describe('the request signer', () => {
  it.each([
    { method: 'GET', path: '/bucket/originals/0197f0c2-1234/0', query: {}, payloadHash: EMPTY_PAYLOAD },
    { method: 'HEAD', path: '/bucket', query: {}, payloadHash: EMPTY_PAYLOAD },
    { method: 'PUT', path: '/b/v/a.b_C-1', query: {}, payloadHash: UNSIGNED_PAYLOAD },
    {
      method: 'PUT',
      path: '/b/v/x',
      query: { partNumber: '12', uploadId: 'a%2B~' },
      payloadHash: 'a'.repeat(64),
      crc32: 'AAAAAA==',
    },
  ] as const)('signs $method $path as the official signer does', async (request) => {
    // Two days, and back: the key of a day must not be used on another.
    for (const day of ['2026-11-20T23:59:59.999Z', '2026-11-21T00:00:00.000Z', '2026-11-20T10:00:00.000Z']) {
      const now = new Date(day);
      const expected = await official.sign(
        {
          method: request.method,
          protocol: 'https:',
          hostname: 'store.example',
          path: request.path,
          query: Object.fromEntries(
            Object.entries(request.query).map(([name, value]) => [name, decodeURIComponent(value)]),
          ),
          headers: {
            host: 'store.example:9000',
            'x-amz-content-sha256': request.payloadHash,
            ...('crc32' in request && { 'x-amz-checksum-crc32': request.crc32 }),
          },
        },
        { signingDate: now },
      );
      const query = Object.entries(request.query)
        .map(([name, value]) => `${name}=${value}`)
        .join('&');
      expect(sign({ ...request, query }, now)).toEqual(expected.headers);
    }
  });
});
