import type { Db } from '@stowage/shared/database/open-database.ts';
import type { FilesTable } from '@stowage/shared/database/schema.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { pictureFormatOf } from '@stowage/shared/images/picture-format.ts';
import { configuredFormats, configuredVariants } from '@stowage/shared/images/variant-settings.ts';
import type { Selectable } from 'kysely';
import { type DescribedFile, describeFile } from './describe-file.ts';
import { fileNotFound } from './file-name.ts';

export interface ShowFile {
  readonly caller: { readonly userId: string; readonly role: 'user' | 'admin' };
  readonly stem: string;
  readonly extension: string;
  /** Widths in px that a worker renders ahead. */
  readonly thumbnailWidths: readonly number[];
}

export interface DescribedVariant {
  readonly width: number;
  readonly format: string;
  readonly state: 'pending' | 'ready' | 'failed';
  readonly size: number | null;
  readonly error: string | null;
}

export interface FileDetails extends DescribedFile {
  readonly variants: DescribedVariant[];
}

/**
 * Everything about a file, for its owner or an administrator.
 * @throws {AppError} FILE_NOT_FOUND, FORBIDDEN
 */
export async function showFile(
  db: Db,
  { caller, stem, extension, thumbnailWidths }: ShowFile,
): Promise<FileDetails> {
  const file = await db
    .selectFrom('files')
    .selectAll()
    .where('stem', '=', stem)
    .where('extension', '=', extension)
    .where('state', '=', 'stored')
    .executeTakeFirst();
  if (file === undefined) throw fileNotFound();
  if (file.user_id !== caller.userId && caller.role !== 'admin')
    throw new AppError('FORBIDDEN', 'Only its owner or an administrator may see the details of a file.');
  const made = await db
    .selectFrom('variants')
    .select(['width', 'format', 'size_bytes'])
    .where('file_id', '=', file.id)
    .execute();
  const sizes = new Map(made.map((variant) => [`${variant.width} ${variant.format}`, variant.size_bytes]));
  const variants = expectedVariants(file, thumbnailWidths).map(({ width, format }): DescribedVariant => {
    const size = sizes.get(`${width} ${format}`) ?? null;
    if (size !== null) return { width, format, state: 'ready', size, error: null };
    const isFailed = file.render_state === 'failed';
    return {
      width,
      format,
      state: isFailed ? 'failed' : 'pending',
      size,
      error: isFailed ? file.render_error : null,
    };
  });
  return { ...describeFile(file), variants };
}

function expectedVariants(
  file: Selectable<FilesTable>,
  widths: readonly number[],
): { width: number; format: string }[] {
  const stored = pictureFormatOf(file.content_type);
  if (stored === undefined) return [];
  if (file.width !== null && file.height !== null)
    return configuredVariants({ width: file.width, height: file.height }, stored, widths);
  // The size is not known yet, or will never be: any of the widths may be made.
  return widths.flatMap((width) => configuredFormats(stored).map((format) => ({ width, format })));
}
