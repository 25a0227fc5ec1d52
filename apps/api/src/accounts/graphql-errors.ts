import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type ExecutionResult, GraphQLError } from 'graphql';

interface ErrorLog {
  error(fields: object, message: string): void;
}

/** The result without anything about what went wrong inside: unknown errors are logged, and masked. */
export function maskErrors(result: ExecutionResult, log: ErrorLog): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => maskError(error, log)) };
}

function maskError(error: GraphQLError, log: ErrorLog): GraphQLError {
  const cause = causeOf(error);
  // The query itself is at fault: graphql-js has written the message.
  if (cause === undefined) return error;
  const known = cause instanceof AppError && cause.code !== 'INTERNAL' ? cause : undefined;
  if (known === undefined) log.error({ err: cause, path: error.path }, 'resolver failed');
  return new GraphQLError(known?.message ?? 'Something went wrong. It is logged.', {
    ...(error.nodes && { nodes: error.nodes }),
    ...(error.path && { path: error.path }),
    extensions: { code: known?.code ?? 'INTERNAL' },
  });
}

/** What a resolver threw; graphql-js may have wrapped it more than once. */
function causeOf(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause;
}
