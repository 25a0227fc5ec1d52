import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { UNSIGNED_PAYLOAD } from './request-signer.ts';
import { BLOCK_BYTES, PART_BYTES, type PartMemory, type UploadBuffers } from './upload-buffers.ts';

/** The bytes of one request, in memory, to be sent as often as needed. */
export interface UploadPart {
  readonly bytes: number;
  /** Nothing comes after it. */
  readonly last: boolean;
  /** The bytes in pieces of at most one block. */
  readonly pieces: readonly Buffer[];
  /** As the signature wants it. */
  readonly payloadHash: string;
  /** As S3 writes it: base64 of the big-endian number. */
  readonly crc32?: string;
  /** To be called once nothing needs the bytes any more. */
  free(options: { readonly reusable: boolean }): void;
}

export interface PartHashing {
  /** Hash the bytes into the signature (over plain http); else they go unsigned, as TLS guards them. */
  readonly sha256: boolean;
  readonly crc32: boolean;
}

/**
 * Copies the chunks into shared memory, and gives it on in parts of 8 MiB; the last one may be smaller, or empty when
 * there was nothing at all. The chunks themselves die young. The taker of a part frees it.
 */
export async function* collectParts(
  chunks: AsyncIterable<Uint8Array>,
  options: { readonly buffers: UploadBuffers; readonly hashing: PartHashing; readonly signal: AbortSignal },
): AsyncGenerator<UploadPart> {
  const { buffers, hashing, signal } = options;
  let memory = buffers.part();
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      for (let offset = 0; offset < chunk.byteLength; ) {
        // Only when one byte more is there: so a body of exactly one part is the last part.
        if (bytes === PART_BYTES) {
          const full = memory;
          memory = buffers.part();
          bytes = 0;
          yield seal(full, PART_BYTES, false, hashing);
        }
        const filled = bytes % BLOCK_BYTES;
        const block = (filled === 0 ? undefined : memory.blocks.at(-1)) ?? (await memory.grow(signal));
        const piece = chunk.subarray(offset, offset + BLOCK_BYTES - filled);
        block.set(piece, filled);
        offset += piece.byteLength;
        bytes += piece.byteLength;
      }
    }
    const last = memory;
    memory = buffers.part();
    yield seal(last, bytes, true, hashing);
  } finally {
    memory.free({ reusable: true });
  }
}

/** The same for bytes that are in memory anyway, at most one part of them: nothing is copied. */
export function partOfBytes(data: Uint8Array, hashing: PartHashing): UploadPart {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const pieces: Buffer[] = [];
  for (let offset = 0; offset < buffer.length; offset += BLOCK_BYTES) {
    pieces.push(buffer.subarray(offset, offset + BLOCK_BYTES));
  }
  return { bytes: buffer.length, last: true, pieces, ...hashes(pieces, hashing), free: () => undefined };
}

function seal(memory: PartMemory, bytes: number, last: boolean, hashing: PartHashing): UploadPart {
  memory.seal();
  const pieces = memory.blocks.map((block, index) => block.subarray(0, bytes - index * BLOCK_BYTES));
  return { bytes, last, pieces, ...hashes(pieces, hashing), free: (options) => memory.free(options) };
}

function hashes(pieces: readonly Buffer[], wanted: PartHashing): Pick<UploadPart, 'payloadHash' | 'crc32'> {
  return {
    payloadHash: wanted.sha256 ? sha256(pieces) : UNSIGNED_PAYLOAD,
    ...(wanted.crc32 && { crc32: base64Crc32(pieces) }),
  };
}

function sha256(pieces: readonly Buffer[]): string {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return hash('sha256', only, 'hex');
  const digest = createHash('sha256');
  for (const piece of pieces) digest.update(piece);
  return digest.digest('hex');
}

function base64Crc32(pieces: readonly Buffer[]): string {
  const sum = pieces.reduce((value, piece) => crc32(piece, value), 0);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString('base64');
}
