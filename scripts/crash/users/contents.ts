import { createCipheriv, createHash } from 'node:crypto';
import { makePicture } from '../../testing/pictures.ts';
import type { Random } from '../random.ts';

/** A file to upload. Its bytes are made again from it whenever they are needed. */
export interface Content {
  readonly kind: 'picture' | 'text' | 'pdf' | 'zip';
  readonly fileName: string;
  readonly sizeBytes: number;
  /** Makes its bytes differ from all others. */
  readonly salt: string;
  /** Which of the pictures; 0 for others. */
  readonly picture: number;
}

const SMALLEST = 1_024;
const LARGEST = 20 * 1024 * 1024;
/** The S3 store sends more than 8 MiB in parts. */
const SEVERAL_PARTS = 8.5 * 1024 * 1024;
const MULTIPART_SHARE = 0.06;
/** JPEG has segments for comments, of at most so many bytes: the way to make pictures of any size, all different. */
const LONGEST_COMMENT = 65_533;

/** What users upload: sizes from 1 KB to 20 MB, many small and few large, pictures and others. */
export class Contents {
  readonly #pictures: readonly Buffer[];

  private constructor(pictures: readonly Buffer[]) {
    this.#pictures = pictures;
  }

  static async make(): Promise<Contents> {
    const sizes = [
      [40, 30],
      [120, 200],
      [320, 240],
      [640, 480],
      [900, 1_200],
      [1_600, 1_100],
    ] as const;
    const pictures: Buffer[] = [];
    for (const [index, [width, height]] of sizes.entries())
      pictures.push(
        await makePicture({ width, height, format: 'jpeg', seed: index + 1, progressive: index === 3 }),
      );
    return new Contents(pictures);
  }

  /** @param largest bytes, when less than the usual 20 MB */
  draw(random: Random, largest = LARGEST): Content {
    const kind = random.pick(['picture', 'picture', 'text', 'pdf', 'zip'] as const);
    const top = Math.max(SMALLEST, Math.min(largest, LARGEST));
    // Evenly over the orders of magnitude; and now and then one that takes several parts.
    const least = random.chance(MULTIPART_SHARE) ? Math.min(SEVERAL_PARTS, top) : SMALLEST;
    const sizeBytes = Math.round(least * (top / least) ** random.next());
    return this.#content(kind, random, sizeBytes);
  }

  /** A small picture: one that has variants of all widths. */
  drawPicture(random: Random): Content {
    return this.#content('picture', random, 1, random.int(2, 3));
  }

  #content(kind: Content['kind'], random: Random, asked: number, picture?: number): Content {
    const salt = `${random.int(0, 2 ** 32 - 1)}-${random.int(0, 2 ** 32 - 1)}`;
    const chosen = kind === 'picture' ? (picture ?? random.int(0, this.#pictures.length - 1)) : 0;
    const least = kind === 'picture' ? (this.#pictures[chosen]?.length ?? 0) + 4 + salt.length : SMALLEST;
    const extension = { picture: 'jpg', text: 'txt', pdf: 'pdf', zip: 'zip' }[kind];
    return {
      kind,
      salt,
      picture: chosen,
      sizeBytes: Math.max(asked, least),
      fileName: `${salt}.${extension}`,
    };
  }

  bytesOf(content: Content): Buffer {
    const { kind, salt, sizeBytes } = content;
    switch (kind) {
      case 'picture':
        return padded(this.#pictures[content.picture] ?? Buffer.alloc(0), content);
      case 'text':
        return Buffer.alloc(sizeBytes, `${salt}: a line of text, again and again\n`);
      case 'pdf':
        return Buffer.concat([Buffer.from('%PDF-1.7\n'), noise(salt, sizeBytes - 9)]);
      case 'zip':
        return Buffer.concat([
          Buffer.from('PK\x03\x04\x14\x00\x00\x00\x00\x00', 'latin1'),
          noise(salt, sizeBytes - 10),
        ]);
    }
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Bytes that do not compress, the same for the same salt. */
function noise(salt: string, length: number): Buffer {
  const key = createHash('sha256').update(salt).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** The picture with comments after its first marker, until it has its size. */
function padded(picture: Buffer, { salt, sizeBytes }: Content): Buffer {
  const parts = [picture.subarray(0, 2)];
  let missing = sizeBytes - picture.length;
  let text = Buffer.from(salt);
  while (missing >= 4) {
    const length = Math.min(missing - 4, LONGEST_COMMENT);
    // What would be left could not hold the head of another comment.
    const rest = missing - 4 - length;
    const body = Buffer.alloc(rest > 0 && rest < 4 ? length - 4 : length, text);
    const head = Buffer.from([0xff, 0xfe, 0, 0]);
    head.writeUInt16BE(body.length + 2, 2);
    parts.push(head, body);
    missing -= 4 + body.length;
    text = Buffer.from('comment ');
  }
  return Buffer.concat([...parts, picture.subarray(2)]);
}
