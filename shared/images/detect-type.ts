import { fileTypeFromBuffer } from 'file-type';

/** What a file is, told by its first bytes alone. */
export interface DetectedType {
  /** Canonical MIME type, without parameters. */
  readonly contentType: string;
  /** Canonical extension, without the dot. */
  readonly extension: string;
}

/** So many bytes of the beginning tell the type: they reach past the first entries of an Office document. */
export const SNIFF_BYTES = 64 * 1024;

/** The types whose files may have thumbnails, with the extension they are stored under. */
const RENDERABLE_TYPES: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/tiff': 'tiff',
};

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument';

/** Accepted types that have a signature, and the extension of each. */
const SIGNED_TYPES: Readonly<Record<string, string>> = {
  ...RENDERABLE_TYPES,
  'image/heic': 'heic',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/ogg': 'ogv',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'application/ogg': 'ogx',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  [`${OFFICE}.wordprocessingml.document`]: 'docx',
  [`${OFFICE}.wordprocessingml.template`]: 'dotx',
  [`${OFFICE}.spreadsheetml.sheet`]: 'xlsx',
  [`${OFFICE}.spreadsheetml.template`]: 'xltx',
  [`${OFFICE}.presentationml.presentation`]: 'pptx',
  [`${OFFICE}.presentationml.slideshow`]: 'ppsx',
  [`${OFFICE}.presentationml.template`]: 'potx',
  [`${OPEN_DOCUMENT}.text`]: 'odt',
  [`${OPEN_DOCUMENT}.spreadsheet`]: 'ods',
  [`${OPEN_DOCUMENT}.presentation`]: 'odp',
  [`${OPEN_DOCUMENT}.graphics`]: 'odg',
};

/** Types without a signature: their bytes are checked as text, their name says which of these they are. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/csv': 'csv',
  'application/json': 'json',
  'text/markdown': 'md',
};

/** What is accepted unless ALLOWED_TYPES says otherwise. */
export const DEFAULT_ALLOWED_TYPES: readonly string[] = [
  ...Object.keys(SIGNED_TYPES),
  ...Object.keys(TEXT_TYPES),
];

/** Names that the detection library gives to types that are one for us. */
const CANONICAL: Readonly<Record<string, string>> = {
  'image/apng': 'image/png',
  'image/heif': 'image/heic',
  'image/heif-sequence': 'image/heic',
  'image/heic-sequence': 'image/heic',
  'video/x-m4v': 'video/mp4',
  'audio/x-m4a': 'audio/mp4',
};

/**
 * Some signatures are ordinary words that a text may begin with (`BM`, `solid `), or are those of text formats.
 * Whether such a file is text is decided by all of its bytes, like that of any text.
 */
const LOOKS_LIKE_TEXT = new Set(['image/bmp', 'model/stl', 'text/calendar', 'text/vcard', 'text/vtt']);

/**
 * Signatures of types whose details the library looks for further back. When they lie beyond the head it says
 * nothing at all, instead of what the signature says already.
 */
const FAR_DETAILS = [
  { mime: 'image/tiff', ext: 'tiff', signature: 'II*\0' },
  { mime: 'image/tiff', ext: 'tiff', signature: 'MM\0*' },
  { mime: 'image/png', ext: 'png', signature: '\x89PNG\r\n\x1a\n' },
  { mime: 'audio/mpeg', ext: 'mp3', signature: 'ID3' },
];

/**
 * Tells the type by the signature in the first bytes (all of them, or at least `SNIFF_BYTES`). Undefined: there is
 * no signature, it may be text.
 */
export async function detectType(head: Uint8Array): Promise<DetectedType | undefined> {
  const start = Buffer.from(head.subarray(0, 8)).toString('latin1');
  const found =
    (await fileTypeFromBuffer(head)) ?? FAR_DETAILS.find(({ signature }) => start.startsWith(signature));
  if (found === undefined || LOOKS_LIKE_TEXT.has(found.mime)) return undefined;
  const mime = found.mime.split(';')[0] ?? found.mime;
  const contentType = CANONICAL[mime] ?? mime;
  return { contentType, extension: SIGNED_TYPES[contentType] ?? found.ext };
}

/** The text type that a file name stands for; `text/plain` when it stands for none of the others. */
export function textTypeOf(fileName: string | null): DetectedType {
  const named = extensionOf(fileName);
  for (const [contentType, extension] of Object.entries(TEXT_TYPES))
    if (extension === named) return { contentType, extension };
  return { contentType: 'text/plain', extension: 'txt' };
}

/** The part of a file name after its last dot, in lower case; empty when there is none. */
export function extensionOf(fileName: string | null): string {
  return /\.([^.]*)$/.exec(fileName ?? '')?.[1]?.toLowerCase() ?? '';
}
