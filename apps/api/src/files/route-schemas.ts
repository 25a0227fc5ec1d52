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

/** What a read may answer beside the bytes. */
const readResponses = {
  200: { description: 'The bytes.', ...bytes },
  206: { description: 'The range asked for.', ...bytes },
  304: { description: 'The reader has it already.', type: 'null' },
  ...problems(400, 404, 414, 416, 429, 431, 500, 503),
};

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
    ...problems(400, 401, 408, 413, 415, 431, 500, 503),
  },
};

export const readSchema = {
  tags,
  summary: 'The file, or a thumbnail of a picture',
  params: nameParams,
  querystring: readQuery,
  headers: readHeaders,
  response: { ...readResponses, ...problems(415) },
};

export const readWebpSchema = {
  tags,
  summary: 'A thumbnail, or the whole picture, as WebP',
  params: nameParams,
  querystring: readQuery,
  headers: readHeaders,
  response: { ...readResponses, ...problems(415) },
};

export const listSchema = {
  tags,
  security,
  summary: "A user's files, newest first",
  querystring: listQuery,
  response: { 200: fileListSchema, ...problems(400, 401, 403, 404, 431, 500, 503) },
};

export const detailsSchema = {
  tags,
  security,
  summary: 'Everything about a file',
  params: nameParams,
  response: { 200: fileDetailsSchema, ...problems(400, 401, 403, 404, 414, 431, 500, 503) },
};

export const deleteSchema = {
  tags,
  security,
  summary: 'Deletes a file',
  params: nameParams,
  response: {
    204: { description: 'No process serves it any more.', type: 'null' },
    ...problems(400, 401, 403, 404, 414, 431, 500, 503),
  },
};
