import type { FilesTable } from '@stowage/shared/database/schema.ts';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type PictureFormat, pictureFormatOf } from '@stowage/shared/images/picture-format.ts';
import type { Selectable } from 'kysely';

/** What thumbnails need to know of a stored file. */
export type ThumbnailFile = Pick<
  Selectable<FilesTable>,
  'id' | 'extension' | 'object_key' | 'content_type' | 'width' | 'height' | 'render_state' | 'render_error'
>;

/**
 * The format in which the file is stored.
 * @throws AppError NOT_A_PICTURE, PICTURE_FORMAT_NOT_RENDERED
 */
export function assertRenderable(file: ThumbnailFile): PictureFormat {
  const format = pictureFormatOf(file.content_type);
  if (format !== undefined) return format;
  if (file.content_type.startsWith('image/')) {
    throw new AppError('PICTURE_FORMAT_NOT_RENDERED', `Thumbnails of ${file.content_type} are not made.`);
  }
  throw new AppError('NOT_A_PICTURE', 'There are thumbnails of pictures only.');
}
