import { type TSchema, Type } from 'typebox';

const bytes = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const userId = Type.String({ minLength: 1, description: 'The `User.id` of GraphQL.' });
const only = <T extends Record<string, TSchema>>(fields: T) =>
  Type.Object(fields, { additionalProperties: false });

export const readQuery = only({ user_id: userId });
export const increaseBody = only({ user_id: userId, additional_bytes: bytes('Added to the bytes used.') });
export const setBody = only({ user_id: userId, new_quota_bytes: bytes('The bytes used from now on.') });
export const limitBody = only({ user_id: userId, max_quota_bytes: bytes('The limit from now on.') });

export const quotaRecordSchema = Type.Object(
  {
    user_id: Type.String(),
    current_quota: Type.Integer({ description: 'Bytes used.' }),
    max_quota: Type.Integer({ description: 'The limit, in bytes.' }),
  },
  { description: 'The quota of a user.' },
);
