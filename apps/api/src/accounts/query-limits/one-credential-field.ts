import type { ValidationRule } from 'graphql';
import { queryError } from '../graphql-errors.ts';
import { measureFields } from './measure-fields.ts';

const CREDENTIAL_FIELDS = new Set(['login', 'basicAuthSignUp', 'verifySignupToken', 'updateToken']);

/** Refuses a second guess in the same request, be it under an alias or in a fragment. */
export const oneCredentialField: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    const fields = measureFields(
      context,
      operation.selectionSet,
      (field, inner) => inner + (CREDENTIAL_FIELDS.has(field.name.value) ? 1 : 0),
      (left, right) => left + right,
    );
    if (fields > 1)
      context.reportError(
        queryError(
          'TOO_MANY_CREDENTIAL_FIELDS',
          `A request may hold one of ${[...CREDENTIAL_FIELDS].join(', ')}.`,
          operation,
        ),
      );
  },
});
