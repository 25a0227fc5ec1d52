import { STATUS_CODES } from 'node:http';
import { ERROR_CODES } from '@stowage/shared/errors/error-codes.ts';
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

/** The responses of a route that are problems, by status. */
export function problems(...statuses: readonly number[]) {
  return Object.fromEntries(
    statuses.map((status) => {
      const codes = ERROR_CODES.filter((code) => STATUS_OF[code] === status);
      const description = `${STATUS_CODES[status] ?? 'Error'}: ${codes.join(', ')}.`;
      return [status, { description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } }];
    }),
  );
}
