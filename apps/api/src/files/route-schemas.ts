import { Type } from 'typebox';
import { problems } from '../http/problem-schema.ts';
import {
  fileDetailsSchema,
  fileListSchema,
  listQuery,
  nameParams,
  readQuery,
  uploadedFileSchema,
} from './schemas.ts';

const tags = ['files'];
const security = [{ bearer: [] }];
const bytes = { content: { '*/*': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) } } };

/** What a read may answer. */
const readResponses = {
  200: { description: 'The bytes.', ...bytes },
  206: { description: 'The range asked for.', ...bytes },
  304: { description: 'The reader has it already.', type: 'null' },
  ...problems(
    'INVALID_REQUEST',
    'UNSUPPORTED_PARAMETER',
    'INVALID_WIDTH',
    'THUMBNAIL_TOO_LARGE',
    'FILE_NOT_FOUND',
    'URI_TOO_LONG',
    'NOT_A_PICTURE',
    'PICTURE_FORMAT_NOT_RENDERED',
    'PICTURE_UNREADABLE',
    'PICTURE_TOO_LARGE',
    'RANGE_NOT_SATISFIABLE',
    'DATABASE_UNAVAILABLE',
    'OBJECT_NOT_FOUND',
    'RENDER_CRASHED',
    'RENDER_TIMED_OUT',
    'OBJECT_STORE_UNAVAILABLE',
    'SHUTTING_DOWN',
  ),
};

/** What the owner of a file may be answered, or someone who is not. */
const ofOneFile = problems(
  'INVALID_REQUEST',
  'INVALID_WIDTH',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'FILE_NOT_FOUND',
  'URI_TOO_LONG',
  'DATABASE_UNAVAILABLE',
);

/** Describes the body; the route reads it by itself, while it arrives. */
const uploadBody = Type.Object({
  file: Type.Array(Type.Unsafe<unknown>({ type: 'string', format: 'binary' }), {
    minItems: 1,
    maxItems: 20,
    description: 'The files, each as a part named `file`. Empty ones are skipped.',
  }),
});

const uploadHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ pattern: '^[!-~]{1,255}$', description: 'Of your choice, one for each upload.' }),
  ),
});

const readHeaders = Type.Object({
  range: Type.Optional(Type.String({ description: 'One range of bytes.' })),
  'if-none-match': Type.Optional(Type.String()),
  'if-modified-since': Type.Optional(Type.String()),
  'if-range': Type.Optional(Type.String()),
});

export const uploadSchema = {
  tags,
  security,
  headers: uploadHeaders,
  body: uploadBody,
  summary: 'Stores one to twenty files',
  description:
    'All files are stored or none is. The answer is text/plain, unless `Accept` admits application/json and ' +
    'neither text/plain nor a wildcard. With an `Idempotency-Key` a retry gets the first answer, for 24 hours.',
  consumes: ['multipart/form-data'],
  response: {
    200: {
      description: 'The names of the stored files, one a line, in order.',
      content: {
        'text/plain': { schema: Type.String() },
        'application/json': { schema: Type.Array(uploadedFileSchema) },
      },
    },
    ...problems(
      'INVALID_REQUEST',
      'NO_FILE',
      'TOO_MANY_FILES',
      'MALFORMED_MULTIPART',
      'UNAUTHENTICATED',
      'REQUEST_TIMEOUT',
      'FILE_TOO_LARGE',
      'QUOTA_EXCEEDED',
      'UNSUPPORTED_FILE_TYPE',
      'DATABASE_UNAVAILABLE',
      'OBJECT_STORE_WRITE_FAILED',
      'OBJECT_STORE_UNAVAILABLE',
      'UPLOAD_LEASE_LOST',
      'IDEMPOTENT_REQUEST_IN_PROGRESS',
      'SHUTTING_DOWN',
    ),
  },
};

export const readSchema = {
  tags,
  summary: 'The file, or a thumbnail of a picture',
  params: nameParams,
  querystring: readQuery,
  headers: readHeaders,
  response: readResponses,
};

export const readWebpSchema = {
  tags,
  summary: 'A thumbnail, or the whole picture, as WebP',
  params: nameParams,
  querystring: readQuery,
  headers: readHeaders,
  response: readResponses,
};

export const listSchema = {
  tags,
  security,
  summary: "A user's files, newest first",
  querystring: listQuery,
  response: {
    200: fileListSchema,
    ...problems('INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'USER_NOT_FOUND', 'DATABASE_UNAVAILABLE'),
  },
};

export const detailsSchema = {
  tags,
  security,
  summary: 'Everything about a file',
  params: nameParams,
  response: { 200: fileDetailsSchema, ...ofOneFile },
};

export const deleteSchema = {
  tags,
  security,
  summary: 'Deletes a file',
  params: nameParams,
  response: {
    204: { description: 'No process serves it any more.', type: 'null' },
    ...ofOneFile,
  },
};
