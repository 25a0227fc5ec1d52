import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '@stowage/shared/errors/error-codes.ts';
import { Type } from 'typebox';
import { PROBLEM_TYPE, STATUS_OF } from './problem-details.ts';

/** Error bodies as the OpenAPI description shows them. */
const problemSchema = Type.Object({
  type: Type.Literal('about:blank'),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'For people.' }),
  code: Type.String({ description: 'For programs.' }),
  request_id: Type.String(),
  details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

/** Any operation may give these, whatever it does. */
const EVERYWHERE = ['HEADERS_TOO_LARGE', 'INTERNAL', 'OVERLOADED'] as const satisfies readonly ErrorCode[];

/** What an operation with a JSON body may answer because of that body. */
export const BODY_PROBLEMS = [
  'INVALID_REQUEST',
  'REQUEST_TIMEOUT',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies readonly ErrorCode[];

/** The responses of a route that are problems, by status: those named here, and what any operation may give. */
export function problems(...codes: readonly ErrorCode[]) {
  const byStatus = Object.groupBy(new Set([...codes, ...EVERYWHERE]), (code) => STATUS_OF[code]);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, given = []]) => {
      const description = `${STATUS_CODES[status] ?? 'Error'}: ${given.join(', ')}.`;
      return [status, { description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } }];
    }),
  );
}
