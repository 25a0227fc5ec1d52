import type { ValidationRule } from 'graphql';
import { queryError } from '../graphql-errors.ts';
import { measureFields } from './measure-fields.ts';

/** Refuses operations that nest deeper than allowed. Introspection nests deeper than anything else by its nature. */
export function depthLimit(limits: { depth: number; introspectionDepth: number }): ValidationRule {
  const allowance = limits.introspectionDepth - limits.depth;
  return (context) => ({
    OperationDefinition(operation) {
      const depth = measureFields(
        context,
        operation.selectionSet,
        // The allowance is taken off below `__schema` and `__type`, so one number serves for both limits.
        (field, inner) =>
          field.name.value === '__schema' || field.name.value === '__type'
            ? Math.max(1, 1 + inner - allowance)
            : 1 + inner,
        Math.max,
      );
      if (depth > limits.depth)
        context.reportError(
          queryError('QUERY_TOO_DEEP', `The query nests deeper than ${limits.depth} levels.`, operation),
        );
    },
  });
}
