import type { ValidationRule } from 'graphql';
import { queryError } from '../graphql-errors.ts';
import { measureFields } from './measure-fields.ts';

/** Refuses operations with more aliases than allowed: an alias makes the same field run again. */
export function aliasLimit(most: number): ValidationRule {
  return (context) => ({
    OperationDefinition(operation) {
      const aliases = measureFields(
        context,
        operation.selectionSet,
        (field, inner) => inner + (field.alias === undefined ? 0 : 1),
        (left, right) => left + right,
      );
      if (aliases > most)
        context.reportError(
          queryError('TOO_MANY_ALIASES', `The query has more than ${most} aliases.`, operation),
        );
    },
  });
}
