import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type ASTNode, type ExecutionResult, GraphQLError } from 'graphql';
import { isRaisedCode, type QueryCode, type RaisedCode } from './graphql-codes.ts';

interface ErrorLog {
  error(fields: object, message: string): void;
}

/** The refusal of a query. */
export function queryError(code: QueryCode, message: string, nodes?: ASTNode): GraphQLError {
  return new GraphQLError(message, { nodes, extensions: { code } });
}

/** The error with a code. Those without one are of graphql-js, about the query, or of graphql-http, about the request. */
export function codedError(error: Error): GraphQLError {
  if (!(error instanceof GraphQLError)) return queryError('QUERY_INVALID', error.message);
  if (error.extensions.code !== undefined) return error;
  const { nodes, source, positions, path } = error;
  const code: QueryCode = 'QUERY_INVALID';
  return new GraphQLError(error.message, { nodes, source, positions, path, extensions: { code } });
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
  const known = cause instanceof AppError && isRaisedCode(cause.code) ? cause.code : undefined;
  const code: RaisedCode = known ?? 'INTERNAL';
  const isOurs = code !== 'UNAUTHENTICATED';
  if (isOurs) log.error({ err: cause, path: error.path }, 'resolver failed');
  return new GraphQLError(
    isOurs ? 'Something went wrong here. It is not the fault of your request.' : error.message,
    {
      ...(error.nodes && { nodes: error.nodes }),
      ...(error.path && { path: error.path }),
      extensions: { code },
    },
  );
}

/** What a resolver threw; graphql-js may have wrapped it more than once. */
function causeOf(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause;
}
