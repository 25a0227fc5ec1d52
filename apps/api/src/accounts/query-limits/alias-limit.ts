import { GraphQLError, type ValidationRule } from 'graphql';
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
          new GraphQLError(`The query has more than ${most} aliases.`, {
            nodes: operation,
            extensions: { code: 'TOO_MANY_ALIASES' },
          }),
        );
    },
  });
}
