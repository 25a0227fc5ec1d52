import type { RenderState, StoredFileAnswer } from '../database/schema.ts';

/** One part of an upload whose bytes are in the object store, on its way to a row. */
export interface UploadedFile {
  /** UUID. */
  readonly id: string;
  readonly stem: string;
  readonly extension: string;
  readonly objectKey: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly originalName: string | null;
  /** Of the upright picture; null for other files, and when the header could not be read. */
  readonly width: number | null;
  readonly height: number | null;
  readonly renderState: Extract<RenderState, 'none' | 'pending'>;
}

/** The file as the upload's answer describes it. */
export function answerOf(file: UploadedFile): StoredFileAnswer {
  return {
    name: `${file.stem}.${file.extension}`,
    size: file.sizeBytes,
    content_type: file.contentType,
    width: file.width,
    height: file.height,
    sha256: file.sha256,
  };
}
