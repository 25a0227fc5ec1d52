/** What a request to an S3 server is for. */
export type S3Operation =
  | 'put'
  | 'upload-part'
  | 'create-multipart'
  | 'complete-multipart'
  | 'abort-multipart'
  | 'get'
  | 'head'
  | 'list'
  | 'delete';

/** Operations that write. */
export const S3_WRITES: readonly S3Operation[] = [
  'put',
  'upload-part',
  'create-multipart',
  'complete-multipart',
];

/** Told by method and query, as S3 has them. */
export function s3Operation(method: string, path: string): S3Operation {
  const { pathname, searchParams } = new URL(path, 'http://s3');
  const hasKey = /^\/[^/]+\/./.test(pathname);
  switch (method) {
    case 'PUT':
      return searchParams.has('partNumber') ? 'upload-part' : 'put';
    case 'POST':
      if (searchParams.has('uploads')) return 'create-multipart';
      return searchParams.has('uploadId') ? 'complete-multipart' : 'delete';
    case 'DELETE':
      return searchParams.has('uploadId') ? 'abort-multipart' : 'delete';
    case 'HEAD':
      return 'head';
    default:
      return hasKey ? 'get' : 'list';
  }
}
