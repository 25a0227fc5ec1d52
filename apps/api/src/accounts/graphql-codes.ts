import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';

/** What may be wrong with one field of an input. They are in `errors` of a response, with the statusCode 400. */
export const FIELD_CODES = [
  'EMAIL_INVALID',
  'PASSWORD_TOO_SHORT',
  'PASSWORD_TOO_LONG',
  'PASSWORD_TOO_COMMON',
  'PASSWORD_MALFORMED',
  'TEXT_TOO_LONG',
  'TEXT_INVALID',
] as const;

/** What may be wrong with a query. They are in `extensions.code` of a GraphQL error; nothing was run. */
export const QUERY_CODES = [
  'QUERY_INVALID',
  'QUERY_TOO_DEEP',
  'TOO_MANY_ALIASES',
  'TOO_MANY_CREDENTIAL_FIELDS',
] as const;

/** What went wrong while a query ran and no response can tell. They are in `extensions.code` of a GraphQL error. */
export const RAISED_CODES = [
  'UNAUTHENTICATED',
  'DATABASE_UNAVAILABLE',
  'INTERNAL',
] as const satisfies readonly ErrorCode[];

/** In `errors` of a response. */
export type ResponseCode = (typeof FIELD_CODES)[number] | ErrorCode;
export type QueryCode = (typeof QUERY_CODES)[number];
export type RaisedCode = (typeof RAISED_CODES)[number];

export function isRaisedCode(code: ErrorCode): code is RaisedCode {
  return RAISED_CODES.some((raised) => raised === code);
}
