import { Type } from 'typebox';

const pixels = (description: string) => Type.Union([Type.Integer({ minimum: 1, description }), Type.Null()]);

const described = {
  name: Type.String({ description: 'The name by which it is read.' }),
  size: Type.Integer({ minimum: 1, description: 'Bytes.' }),
  content_type: Type.String({ description: 'Told by content.' }),
  width: pixels('Of the upright picture; null when it is no picture, or not known yet.'),
  height: pixels('Like width.'),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
};

/** A stored file in an upload's answer. */
export const uploadedFileSchema = Type.Object(described);

const listedFileSchema = Type.Object({
  ...described,
  original_name: Type.Union([Type.String({ description: "The client's name for it." }), Type.Null()]),
  created_at: Type.String({ format: 'date-time' }),
});

export const fileListSchema = Type.Object({
  files: Type.Array(listedFileSchema),
  next_cursor: Type.Union([
    Type.String({ description: 'Give it as cursor to get the next page.' }),
    Type.Null(),
  ]),
});

const variantSchema = Type.Object({
  width: Type.Integer({ minimum: 1 }),
  format: Type.String({ description: 'jpeg, png, webp, gif, avif or tiff.' }),
  state: Type.Union([Type.Literal('pending'), Type.Literal('ready'), Type.Literal('failed')]),
  size: Type.Union([Type.Integer({ minimum: 1, description: 'Bytes, when it is ready.' }), Type.Null()]),
  error: Type.Union([Type.String({ description: 'The reason, when it failed.' }), Type.Null()]),
});

export const fileDetailsSchema = Type.Object({
  ...listedFileSchema.properties,
  variants: Type.Array(variantSchema, { description: 'Thumbnails that a worker makes ahead.' }),
});

export const nameParams = Type.Object({
  name: Type.String({
    description: '`<name>.<ext>`, or `<name>_<width>.<ext>` for a thumbnail of 1 to 4096 pixels.',
  }),
});

export const readQuery = Type.Object({
  s: Type.Optional(Type.String({ deprecated: true, description: 'Gone: a request with it is refused.' })),
});

export const listQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.String({ pattern: '^([1-9][0-9]?|100)$', description: 'Files on a page, 1 to 100. Default 50.' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: '`next_cursor` of the page before.' }),
    ),
    user_id: Type.Optional(
      Type.String({ minLength: 1, description: "Administrators only: another user's files." }),
    ),
  },
  { additionalProperties: false },
);
