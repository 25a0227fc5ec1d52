import { AppError } from '../errors/app-error.ts';
import { ERROR_CODES, type ErrorCode } from '../errors/error-codes.ts';

/** Codes that say something about the picture itself; others say that rendering it did not work out. */
const ABOUT_THE_PICTURE: readonly ErrorCode[] = [
  'PICTURE_UNREADABLE',
  'PICTURE_TOO_LARGE',
  'PICTURE_FORMAT_NOT_RENDERED',
];

/** What `files.render_error` says: the code, for programs, and the reason, for people. */
export function failureText(code: ErrorCode, reason: string): string {
  return `${code}: ${reason}`;
}

/**
 * A picture on which the workers have given up is not tried again for a reader.
 * @throws AppError PICTURE_TOO_LARGE, PICTURE_FORMAT_NOT_RENDERED or, for every other reason, PICTURE_UNREADABLE
 */
export function assertNotFailed(file: {
  readonly render_state: string;
  readonly render_error: string | null;
}): void {
  if (file.render_state !== 'failed') return;
  const recorded = ERROR_CODES.find((code) => file.render_error?.startsWith(`${code}:`));
  const code =
    recorded !== undefined && ABOUT_THE_PICTURE.includes(recorded) ? recorded : 'PICTURE_UNREADABLE';
  throw new AppError(code, 'Thumbnails of this picture could not be made.');
}
