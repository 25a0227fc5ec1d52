import type { FilesTable } from '@stowage/shared/database/schema.ts';
import type { Selectable } from 'kysely';

type FileRow = Pick<
  Selectable<FilesTable>,
  | 'stem'
  | 'extension'
  | 'original_name'
  | 'content_type'
  | 'size_bytes'
  | 'sha256'
  | 'width'
  | 'height'
  | 'created_at'
>;

/** A stored file as its owner sees it. */
export interface DescribedFile {
  readonly name: string;
  readonly original_name: string | null;
  readonly content_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly width: number | null;
  readonly height: number | null;
  /** ISO 8601. */
  readonly created_at: string;
}

export function describeFile(file: FileRow): DescribedFile {
  return {
    name: `${file.stem}.${file.extension}`,
    original_name: file.original_name,
    content_type: file.content_type,
    size: file.size_bytes,
    sha256: file.sha256,
    width: file.width,
    height: file.height,
    created_at: file.created_at.toISOString(),
  };
}
