import { create } from 'content-disposition';

/** Types that a browser shows by itself and that run nothing. */
const SHOWN = /^(?:image|video|audio)\/|^text\/plain$/;

/** Content-Disposition by RFC 6266: shown when that is harmless, saved otherwise; under the name it came with. */
export function contentDisposition(contentType: string, fileName: string): string {
  return create(fileName, { type: SHOWN.test(contentType) ? 'inline' : 'attachment' });
}
