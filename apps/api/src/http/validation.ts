import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/** What a schema error of TypeBox tells about one broken rule. */
interface BrokenRule {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: unknown;
}

/**
 * Compiles the TypeBox schemas of routes. Unlike Fastify's own compiler it takes a value as it is: nothing is
 * converted ("5" is no integer) and no unknown field is dropped unseen. The first broken rule becomes
 * `INVALID_REQUEST` with `details: {field, rule}`; the field is a dotted path, or the name of the part
 * (`body`, `querystring`, …) when the whole of it is at fault.
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const part = httpPart ?? 'body';
  const compiled = Compile(schema);
  return (value: unknown) => {
    if (compiled.Check(value)) return { value };
    return { error: invalidRequest(part, compiled.Errors(value)) };
  };
};

function invalidRequest(part: string, broken: readonly BrokenRule[]): AppError {
  const { field, rule } = describeFirst(part, broken);
  return new AppError('INVALID_REQUEST', `${field} ${rule}.`, { details: { field, rule } });
}

function describeFirst(part: string, broken: readonly BrokenRule[]): { field: string; rule: string } {
  const first = broken[0];
  if (first === undefined) return { field: part, rule: 'is not valid' };

  // Alternatives are reported before the union that holds them: say that none fits, not why the first does not.
  const union = broken.find((rule) => rule.keyword === 'anyOf' && rule.instancePath === first.instancePath);
  if (union !== undefined) return { field: fieldOf(part, first.instancePath), rule: 'has no allowed value' };

  switch (first.keyword) {
    case 'required':
      return {
        field: fieldOf(part, first.instancePath, firstName(first, 'requiredProperties')),
        rule: 'is required',
      };
    case 'boolean':
    case 'additionalProperties':
      // A field that the schema does not list meets the schema "false".
      return {
        field: fieldOf(part, first.instancePath, firstName(first, 'additionalProperties')),
        rule: 'is not known here',
      };
    default:
      return { field: fieldOf(part, first.instancePath), rule: first.message };
  }
}

/** The first of the names that a rule lists in its parameters, if it lists any. */
function firstName(rule: BrokenRule, key: string): string | undefined {
  const { params } = rule;
  if (typeof params !== 'object' || params === null) return undefined;
  const names: unknown = Reflect.get(params, key);
  const name: unknown = Array.isArray(names) ? names[0] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** A JSON pointer, and a name below it, as a dotted path. Names come from the caller: they are cut to 64 characters. */
function fieldOf(part: string, instancePath: string, name?: string): string {
  const segments = instancePath.split('/').slice(1);
  const names = segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (name !== undefined) names.push(name);
  return names.length === 0 ? part : names.join('.').slice(0, 64);
}
